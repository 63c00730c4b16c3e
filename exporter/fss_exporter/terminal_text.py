"""Clean text for terminals and logs, because names from mounts, files and answers can contain escape sequences."""

import json
import re

_NOT_ASCII = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """Return one line without control sequences. An escape replaces each control, format or separator character."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def printable_lines(text: str) -> str:
    """Several lines, each without anything a terminal obeys."""
    return "\n".join(map(printable, text.split("\n")))


def printable_json(document: str) -> str:
    """Return a JSON document with control characters escaped. The values stay equal."""
    return _NOT_ASCII.sub(lambda one: one[0] if one[0].isprintable() else json.dumps(one[0])[1:-1], document)
