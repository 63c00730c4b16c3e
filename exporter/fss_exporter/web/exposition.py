# SPDX-License-Identifier: Apache-2.0
"""Choose the format for a scraper, and write metric families in the format.

The header promises exactly the written format: OpenMetrics version 1.0.0, else the text format. The negotiation of
`prometheus_client` 0.26 promises any requested OpenMetrics version from 1.0.0 on, and writes 1.0.0.
"""

import logging
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from fss_exporter.catalogue import Family, text
from fss_exporter.log_once import LogOnce

_log_once = LogOnce(logging.getLogger(__name__))
# Of the CPU that level 6 takes, 5 takes 70 to 80 % for 1 to 9 % more bytes and 1 takes 35 to 70 % for 10 to 26 % more; the
# customary 9 takes three times as much for the same bytes.
_COMPRESSION_LEVEL = 5
_GZIP_WINDOW = 31


@dataclass(frozen=True, slots=True)
class Format:
    """A text format for families."""

    content_type: str  # header of the response
    media_type: str  # name in an Accept header
    versions: frozenset[str]  # accepted `version` parameters. Empty stands for a request without a version
    write: Callable[[Sequence[Family]], Iterator[bytes]]  # writes families as bytes, piece by piece


OPENMETRICS = Format(
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
    "application/openmetrics-text",
    frozenset({"", "1.0.0"}),
    text.open_metrics,
)
PLAIN = Format("text/plain; version=0.0.4; charset=utf-8", "text/plain", frozenset({"", "0.0.4"}), text.plain)


def negotiate(accept: str) -> Format:
    """Return the scraper's preferred format by the weights of the Accept header, else plain text."""
    best, best_weight = PLAIN, 0.0
    for media_type, parameters in _choices(accept):
        weight = _weight(parameters)
        for known in (OPENMETRICS, PLAIN):
            fits = media_type == known.media_type and parameters.get("version", "") in known.versions
            if fits and weight > best_weight:
                best, best_weight = known, weight
    return best


def gzip_accepted(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header allows gzip. A weight for gzip by name wins over `*`."""
    weights = {coding: _weight(parameters) for coding, parameters in _choices(accept_encoding)}
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def only_named(families: Sequence[Family], names: Collection[str]) -> list[Family]:
    """Return the families and samples of `name[]`, by family name or by sample name."""
    chosen = [
        family if family.name in names or family.metric.name in names else family.only(names) for family in families
    ]
    return [family for family in chosen if family.series]


def write(families: Sequence[Family], form: Format, *, compress: bool) -> bytes:
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


def _writable(family: Family, form: Format) -> bool:
    try:
        _body(form.write([family]), compress=False)
    except Exception as failure:  # noqa: BLE001  # as above
        message = f"left {family.name} out of a scrape: {failure!r}"[:500]
        _log_once.failed(family.name, message, level=logging.ERROR)
        return False
    return True


def _choices(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    for choice in header.split(","):
        token, *parameters = choice.split(";")
        pairs = (parameter.strip().partition("=") for parameter in parameters)
        yield token.strip().lower(), {name.strip().lower(): value.strip() for name, _, value in pairs}


def _weight(parameters: dict[str, str]) -> float:
    try:
        return float(parameters.get("q", "1"))
    except ValueError:
        return 0.0
