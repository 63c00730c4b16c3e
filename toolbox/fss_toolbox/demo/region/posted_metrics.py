# SPDX-License-Identifier: Apache-2.0
"""Custom metrics: what PostMetricData takes, kept in memory. Documented: PostMetricData."""

import re
from collections.abc import Callable
from math import ceil
from threading import Lock
from typing import Any

from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.api_operations import ApiAnswer, Call
from fss_toolbox.demo.region.evaluate import MetricStream, Observation
from fss_toolbox.demo.region.inventory_api import epoch

MOST_POSTED_STREAMS = 50  # in one PostMetricData, documented: PostMetricData
RETENTION_MINUTES = 90 * 1440  # Longest history of any resolution. Documented: MetricData.


class PostedMetrics:
    """The custom metrics of a region.

    `compartment_ids` are the compartments that a stream can be posted to. `now` returns epoch seconds.
    """

    def __init__(self, compartment_ids: frozenset[str], now: Callable[[], float]) -> None:
        self.compartment_ids = compartment_ids
        self.now = now
        self._streams: dict[tuple[object, ...], MetricStream] = {}
        self._observations: dict[tuple[object, ...], dict[int, list[Observation]]] = {}
        self._lock = Lock()

    def streams(self) -> list[MetricStream]:
        """Return every stream."""
        with self._lock:
            return list(self._streams.values())

    def post(self, call: Call) -> ApiAnswer:
        """PostMetricData: streams without a mistake are taken, the others are named. ATOMIC takes all or nothing."""
        details = call.body
        if len(details.metric_data) > MOST_POSTED_STREAMS:
            raise refusal.invalid(f"field metricData: more than {MOST_POSTED_STREAMS} metric streams in one call")
        verdicts = [(entry, self._mistake(entry)) for entry in details.metric_data]
        failed = [
            {"message": mistake, "metricData": entry.model_dump(mode="json", by_alias=True)}
            for entry, mistake in verdicts
            if mistake
        ]
        if failed and (details.batch_atomicity == "ATOMIC" or len(failed) == len(verdicts)):
            raise refusal.invalid(f"field metricData: {failed[0]['message']}")
        for entry, mistake in verdicts:
            if not mistake:
                self._take(entry)
        return ApiAnswer({"failedMetricsCount": len(failed), "failedMetrics": failed})

    def _mistake(self, entry: Any) -> str:
        """Return the first mistake in a posted stream, or nothing. Rules documented: MetricDataDetails, Datapoint."""
        now = self.now()
        namespace, name = entry.namespace, entry.name
        moments = [epoch(point.timestamp) for point in entry.datapoints]
        rules = {
            "namespace: letters, digits and underscores, a letter first": re.fullmatch(r"(?a:[A-Za-z]\w*)", namespace),
            "namespace: the prefixes oci_ and oracle_ are reserved": not namespace.startswith(("oci_", "oracle_")),
            "name: letters, digits and . _ - $, a letter first": re.fullmatch(r"(?a:[A-Za-z][\w.$-]*)", name),
            "dimensions: 1 to 20 are needed": 1 <= len(entry.dimensions) <= 20,
            "dimensions: a key or value is not allowed": all(
                re.fullmatch(r"[!-~]{1,256}", key) and len(value) <= 512 for key, value in entry.dimensions.items()
            ),
            "datapoints: the list is empty": entry.datapoints,
            "timestamp: must be less than two hours in the past and less than 10 minutes in the future": all(
                now - 7200 < moment < now + 600 for moment in moments
            ),
            "compartmentId: not authorized, or no such compartment": entry.compartment_id in self.compartment_ids,
        }
        return next((message for message, holds in rules.items() if not holds), "")

    def _take(self, entry: Any) -> None:
        where = entry.namespace, entry.resource_group, entry.compartment_id, entry.name
        key = (*where, *sorted(entry.dimensions.items()))
        with self._lock:
            observations = self._observations.setdefault(key, {})
            stream = MetricStream(
                *where, entry.dimensions, entry.metadata or {}, lambda minute: observations.get(minute, ())
            )
            self._streams.setdefault(key, stream)
            for point in entry.datapoints:
                minute = ceil(epoch(point.timestamp) / 60)
                observations.setdefault(minute, []).append((point.value, point.count))
                for old in [at for at in observations if at < minute - RETENTION_MINUTES]:
                    del observations[old]
