# SPDX-License-Identifier: Apache-2.0
"""Every exported metric, declared once.

A metric is a table in a `*.toml` of this folder, with type, labels, unit, HELP and origin of the number. Collectors build
families only through `family()`. The tests compare rules, dashboards, alarms and documents with the tables, in both directions.
"""

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from fss_exporter.catalogue.metric import (
    Family as Family,
    Kind as Kind,
    Metric as Metric,
    Sample as Sample,
    Series as Series,
)


def _declared(*names: str) -> tuple[Metric, ...]:
    """Return the metrics of some files, in the order of the files."""
    texts = (Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8") for name in names)
    rows = (row for text in texts for row in tomllib.loads(text).items())
    return tuple(Metric(name, **{**row, "labels": tuple(row["labels"])}) for name, row in rows)


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
CATALOGUE: dict[str, Metric] = {metric.name: metric for metric in (*CLIENT, *EXACT, *PROCESSES, *CLOUD, *EXPORTER)}


def family(name: str, samples: Iterable[tuple[Sequence[str], float]] = ()) -> Family:
    """Return the family of a metric, with samples by label values in the order of the metric's labels."""
    made = Family(CATALOGUE[name])
    for labels, value in samples:
        made.add_metric(labels, value)
    return made
