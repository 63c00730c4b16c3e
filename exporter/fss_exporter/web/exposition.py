# SPDX-License-Identifier: Apache-2.0
"""Write the families of a scrape in the format that `prometheus_client` chooses for the scraper.

The library writes everything but the samples of prepared families. Compressing is not its part: its level 9 takes three times the
CPU of level 5 for nearly the same size. docs/decisions/client-python.md has the figures.
"""

import logging
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final

from prometheus_client import exposition
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fss_exporter.catalogue import CATALOGUE, PreparedFamily, Series
from fss_exporter.catalogue.prepared import Collected
from fss_exporter.log_once import LogOnce

_log_once = LogOnce(logging.getLogger(__name__))
# Of the CPU that level 6 takes, 5 takes 70 to 80 % for 1 to 9 % more bytes and 1 takes 35 to 70 % for 10 to 26 % more; the
# library's 9 takes three times as much for the same bytes.
_COMPRESSION_LEVEL: Final = 5
_GZIP_WINDOW: Final = 31

# Versions that the library writes. It also names 2.0.0 of OpenMetrics and then writes 1.0.0, where a TYPE has no `_total`.
_VERSIONS: Final = ("0.0.4", "1.0.0")


class Format:
    """A text format of the library. `content_type` is the header of the response, and `encode` the writer."""

    def __init__(self, content_type: str, encode: Callable[[Collector], bytes]) -> None:
        self.content_type = content_type
        self._encode = encode
        self._end = encode(Collected(()))  # of OpenMetrics
        self._heads: dict[str, bytes] = {}
        build = CATALOGUE["fss_exporter_build_info"]
        probe = PreparedFamily(build, [Series(build, build.labels)], [1.0])
        # another escaping of names than that of the prepared text leaves all text to the library
        self._takes_prepared = self._text([probe]) == b"".join(self._prepared(probe))

    def write(self, families: Sequence[Metric]) -> Iterator[bytes]:
        """Write families piece by piece, byte for byte as `encode` would."""
        for is_prepared, some in groupby(families, lambda made: isinstance(made, PreparedFamily)):
            if is_prepared and self._takes_prepared:
                for family in some:
                    assert isinstance(family, PreparedFamily)  # noqa: S101  # for the type checker
                    yield from self._prepared(family)
            else:
                yield self._text(list(some))
        yield self._end

    def _prepared(self, family: PreparedFamily) -> Iterator[bytes]:
        if family.name not in self._heads:
            self._heads[family.name] = self._text([Metric(family.name, family.documentation, family.type)])
        yield self._heads[family.name]
        yield from family.pieces()

    def _text(self, families: Sequence[Metric]) -> bytes:
        return self._encode(Collected(families)).removesuffix(self._end)


_FORMATS: Final[dict[str, Format]] = {}


def negotiate(accept: str) -> Format:
    """Return the format that the library chooses by an Accept header.

    The library sees the versions that it writes. Version 0.26 would also promise any other from 1.0.0 on, and fail for one that is no number.
    """
    encode, content_type = exposition.choose_encoder(",".join(filter(_is_written, accept.split(","))))
    if content_type not in _FORMATS:
        _FORMATS[content_type] = Format(content_type, encode)
    return _FORMATS[content_type]


def _is_written(choice: str) -> bool:
    version = re.search(r";\s*version=([^;]*)", choice)
    return version is None or version[1].rstrip() in _VERSIONS


def write(families: Sequence[Metric], form: Format, *, compress: bool) -> bytes:
    """Write the body of a scrape. A family that cannot be written, for example with an invalid label, is left out and
    logged.
    """
    try:
        return _body(form.write(families), compress=compress)
    except Exception:  # noqa: BLE001  # any error costs the broken family only
        writable = [family for family in families if _writable(family, form)]
        return _body(form.write(writable), compress=compress)


def _body(pieces: Iterator[bytes], *, compress: bool) -> bytes:
    if not compress:
        return b"".join(pieces)
    compressor = zlib.compressobj(_COMPRESSION_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return b"".join([*map(compressor.compress, pieces), compressor.flush()])


def _writable(family: Metric, form: Format) -> bool:
    try:
        _body(form.write([family]), compress=False)
    except Exception as failure:  # noqa: BLE001  # as above
        message = f"left {family.name} out of a scrape: {failure!r}"[:500]
        _log_once.failed(family.name, message, level=logging.ERROR)
        return False
    return True
