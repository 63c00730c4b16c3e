"""The man pages of the packages: one for every command, with its whole summary."""

import re
from pathlib import Path

import click
from click_man.core import write_man_pages
from tools.generate.man_pages import with_all_commands

from fss_exporter.cli.main import COMMANDS, cli


def test_making_the_pages_leaves_the_commands_as_they_are(tmp_path: Path) -> None:
    demo = cli.get_command(click.Context(cli), "demo")
    assert demo
    before = demo.short_help
    write_man_pages("fss-exporter", with_all_commands(cli), target_dir=str(tmp_path))

    assert demo.short_help == before
    (shown,) = (
        parameter
        for parameter in demo.get_params(click.Context(demo, parent=click.Context(cli, **cli.context_settings)))
        if "--help" in parameter.opts
    )
    assert shown.opts == ["-h", "--help"]


def test_every_command_has_a_page_with_its_whole_summary(tmp_path: Path) -> None:
    write_man_pages("fss-exporter", with_all_commands(cli), target_dir=str(tmp_path))

    pages = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert set(pages) >= {f"fss-exporter-{name}" for name in COMMANDS} | {"fss-exporter-alarms-plan"}
    summaries = {name: re.search(r"\.SH NAME\n(.*)", page) for name, page in pages.items()}
    assert [name for name, summary in summaries.items() if summary is None or summary[1].endswith("...")] == []
