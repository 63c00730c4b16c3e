# SPDX-License-Identifier: Apache-2.0
"""Texts that people paste or save: byte order marks, colours, and what a log or a mail puts in front of each line."""

import codecs
import re

from fss_exporter.nfs.procfs import decode

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_INLINE_CODE = re.compile(r"^[^\S\n]*`(?!``)[^`\n]+`", re.MULTILINE)  # a page with each line as code of its own
_MARKUP = re.compile(r"_?\*\*_?|`")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # PowerShell writes UTF-16 with `>`
_BYTE_ORDER_MARK = "\ufeff"


def text_of_bytes(raw: bytes) -> str:
    """Return the text of a saved file, without byte order marks and with the line ends of Unix."""
    text = raw.decode("utf-16", "backslashreplace") if raw.startswith(_UTF16) else decode(raw)
    return text.replace(_BYTE_ORDER_MARK, "").replace("\r\n", "\n")


def without_margin(text: str, known_line: "re.Pattern[str]") -> str:
    """Return a text without colours and the marks of Markdown around its lines, and without what stands in front of each line. Figures of a margin may change.

    Args:
        text: the pasted text.
        known_line: finds a line of the program, with what stands before it as the group `margin`.
    """
    text = _COLOURS.sub("", text)
    if _INLINE_CODE.search(text):
        text = _MARKUP.sub("", text)
    match = known_line.search(text)
    if match is None or not match["margin"]:
        return text
    margin = match["margin"].rstrip()
    blanks = len(match["margin"]) - len(margin)
    pattern = re.sub(r"\d+", r"\\d+", re.escape(margin))
    return re.sub(rf"^{pattern}[^\S\n]{{0,{blanks}}}", "", text, flags=re.MULTILINE)
