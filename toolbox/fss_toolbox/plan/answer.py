# SPDX-License-Identifier: Apache-2.0
"""What `plan` prints: every question is answered in sections of a table, sentences and lines to paste."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click
from rich.console import Console

from fss_exporter.terminal_text import printable_lines
from fss_toolbox.tables import Column, Row, say, show as show_table


class Section(NamedTuple):
    """A part of an answer."""

    title: str = ""
    columns: Sequence[Column] = ()
    rows: Sequence[Row] = ()
    sentences: Sequence[str] = ()  # below the table
    pasted: str = ""  # lines that are not folded at the width of the terminal


def show(out: Console, sections: Iterable[Section]) -> None:
    """Print sections, with an empty line between two of them."""
    for number, section in enumerate(filter(any, sections)):
        if number:
            say(out, "")
        if section.rows:
            show_table(out, section.columns, section.rows, section.title)
        elif section.title:
            say(out, section.title, "bold", hanging=2)
        for sentence in section.sentences:
            say(out, sentence, hanging=2)
        if section.pasted:
            click.echo(printable_lines(section.pasted))
