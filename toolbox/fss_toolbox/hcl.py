# SPDX-License-Identifier: Apache-2.0
"""Strings and assignments of Terraform's language, in the layout of `terraform fmt`."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

ESCAPES: Final = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t", "${": "$${", "%{": "%%{"}
_TO_ESCAPE: Final = re.compile(r'[\\"\n\r\t]|[$%]\{')


def quoted(text: str) -> str:
    """Return a text as a string without templates."""
    escaped = _TO_ESCAPE.sub(lambda match: ESCAPES[match[0]], text)
    return '"' + "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped) + '"'


def assignments(values: Mapping[str, str], indent: str) -> Iterator[str]:
    """Yield lines of `name = expression`, with the signs in one column."""
    width = max(map(len, values), default=0)
    yield from (f"{indent}{name:<{width}} = {value}" for name, value in values.items())
