"""Text for terminals and logs. Names from mounts, files and answers may hold escape sequences; none may reach a terminal."""

import json
import re

_NOT_ASCII = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """One line without anything a terminal obeys: each control, format or separator character becomes its escape."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def printable_lines(text: str) -> str:
    """Several lines, each without anything a terminal obeys."""
    return "\n".join(map(printable, text.split("\n")))


def printable_json(document: str) -> str:
    """A JSON document whose strings hold nothing a terminal obeys; the values stay as they are."""
    return _NOT_ASCII.sub(lambda one: one[0] if one[0].isprintable() else json.dumps(one[0])[1:-1], document)
