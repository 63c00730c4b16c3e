# SPDX-License-Identifier: Apache-2.0
"""Every exported metric, declared once.

A metric is a table in a `*.toml` of this folder, with type, labels, unit, HELP and origin of the number. Collectors make the
families of `prometheus_client` through `family()`, `histogram()` and `PreparedFamily` only. The tests compare rules, dashboards,
alarms and documents with the tables, in both directions.
"""

import tomllib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from fss_exporter.catalogue.declaration import Declaration as Declaration, Kind as Kind
from fss_exporter.catalogue.prepared import PreparedFamily as PreparedFamily, Series as Series

_KEPT_SERIES: Final = 4096  # of families with few series


def _declared(*names: str) -> tuple[Declaration, ...]:
    """Return the metrics of some files, in the order of the files."""
    texts = (Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8") for name in names)
    rows = (row for text in texts for row in tomllib.loads(text).items())
    return tuple(Declaration(name, **{**row, "labels": tuple(row["labels"])}) for name, row in rows)


CLIENT = _declared("client")
EXACT = _declared("exact_mode")
PROCESSES = _declared("processes")
INVENTORY = _declared("inventory")
MOUNT_TARGETS = _declared("mount_targets")
FILE_SYSTEMS = _declared("file_systems")
OTHER_SERVICES = _declared("other_services")
POLLER = _declared("poller")
CLOUD = (*INVENTORY, *MOUNT_TARGETS, *FILE_SYSTEMS, *OTHER_SERVICES, *POLLER)
EXPORTER = _declared("exporter")
CATALOGUE: dict[str, Declaration] = {
    declared.name: declared for declared in (*CLIENT, *EXACT, *PROCESSES, *CLOUD, *EXPORTER)
}


def family(
    name: str, samples: Iterable[tuple[Sequence[str], float]] | None = None, *, labels: Sequence[str] = ()
) -> PreparedFamily:
    """Return the family of a counter, gauge or info, with samples by label values. `labels` names the values in their order.

    Without samples it is the bare family, for a registry that asks for names.

    Raises:
        ValueError: the labels differ from the declaration's, or the metric is a histogram.
    """
    declared = CATALOGUE[name]
    if declared.kind == "histogram":
        raise ValueError(f"{name} is a histogram: histogram()")
    if samples is None:
        return PreparedFamily(declared, (), ())
    declared.check(labels)
    rows = list(samples)
    return PreparedFamily(declared, [_series(name, tuple(values)) for values, _ in rows], [value for _, value in rows])


@lru_cache(maxsize=_KEPT_SERIES)
def _series(name: str, labels: tuple[str, ...]) -> Series:
    """Return a series with its text. Most scrapes have the same as the last one."""
    return Series(CATALOGUE[name], labels)


def histogram(
    name: str,
    samples: Iterable[tuple[Sequence[str], Sequence[tuple[float, float]], float]],
    *,
    labels: Sequence[str],
) -> Metric:
    """Return the family of a histogram.

    `samples` are label values, cumulative counts by ascending upper bound, of which the last is infinity, and the sum of all
    values. `labels` names the label values in their order.

    Raises:
        ValueError: the labels differ from the declaration's.
    """
    declared = CATALOGUE[name]
    declared.check(labels)
    made = HistogramMetricFamily(name, declared.help_text, labels=declared.labels)
    for values, buckets, total in samples:
        made.add_metric(
            [*declared.labelled(values).values()], [(floatToGoString(bound), count) for bound, count in buckets], total
        )
    return made
