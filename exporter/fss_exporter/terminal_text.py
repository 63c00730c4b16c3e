# SPDX-License-Identifier: Apache-2.0
"""Clean text for terminals and logs, because names from mounts, files and answers can contain escape sequences."""

import json
import re
from collections.abc import Sequence

_NOT_ASCII = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """Return one line without control sequences. An escape replaces each control, format or separator character."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def printable_lines(text: str) -> str:
    """Several lines, each without anything a terminal obeys."""
    return "\n".join(map(printable, text.split("\n")))


def first_names(names: Sequence[str], most: int) -> str:
    """Return the first names, `most` of them, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def printable_json(document: str) -> str:
    """Return a JSON document with control characters escaped. The values stay equal."""
    return _NOT_ASCII.sub(lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], document)
