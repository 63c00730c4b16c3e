# SPDX-License-Identifier: Apache-2.0
"""Texts that people paste or save: compressed copies, byte order marks, colours, and what a log or a mail puts in front of each line."""

import codecs
import errno
import gzip
import io
import re
import zlib
from typing import IO

from fss_exporter.nfs.mountstats import decode
from fss_exporter.regular_files import read_bounded

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_INLINE_CODE = re.compile(r"^[^\S\n]*`(?!``)[^`\n]+`", re.MULTILINE)  # a page with each line as code of its own
_MARKUP = re.compile(r"_?\*\*_?|`")
_WRITTEN = re.compile(r"\\([nt\"])")  # line ends, tabs and quotes of a string in a log or a program
_MANY = 4  # written line ends. A report of fio can have a few in an option
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # PowerShell writes UTF-16 with `>`
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = "\ufeff"
_NO_BREAK_SPACE = "\u00a0"  # of wikis and mails
_DOUBLE_SPACED = 0.45  # pairs of line ends for each line end. 0.5 if every line has an empty line below it


def text_of_file(file: IO[bytes]) -> str:
    """Return the text of a saved file, unpacked, without what programs, mails and pages do to spaces and line ends.

    Raises:
        OSError: it cannot be read, or is far too long. `strerror` says which.
    """
    raw = read_bounded(file)
    if raw.startswith(_GZIP):
        raw = _unpacked(raw)
    text = raw.decode("utf-16", "backslashreplace") if raw.startswith(_UTF16) else decode(raw)
    text = text.replace(_BYTE_ORDER_MARK, "").replace("\r\n", "\n").replace(_NO_BREAK_SPACE, " ")
    if text.count("\n\n") > _DOUBLE_SPACED * text.count("\n"):
        text = text.replace("\n\n", "\n")
    if text.count(r"\n") > _MANY + text.count("\n"):
        text = _WRITTEN.sub(lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)
    return text


def _unpacked(packed: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(packed)) as content:
            return read_bounded(content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OSError(errno.EINVAL, "its gzip data are damaged or cut off") from error


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
