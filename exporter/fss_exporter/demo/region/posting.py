"""Monitoring (20180401): PostMetricData. What is posted can be listed, queried and alarmed on like any other metric."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.feed import Definition, Feed
from fss_exporter.demo.region.metric_details import MetricDataDetails, PostMetricDataDetails
from fss_exporter.demo.region.monitoring import BASE, epoch
from fss_exporter.demo.region.tenancy import Tenancy
from fss_exporter.demo.region.wire import Answer, Call, Message, Operation


@dataclass(frozen=True)
class Posting:
    """Takes custom metrics.

    Args:
        tenancy: its compartments may be named.
        feed: where the points go.
        now: epoch seconds.
        most_streams: in one call.
    """

    tenancy: Tenancy
    feed: Feed
    now: Callable[[], float]
    most_streams: int

    def operations(self) -> tuple[Operation, ...]:
        """What it serves; the real service has a host of its own for it, `telemetry-ingestion`."""
        path, family = f"{BASE}/metrics", "PostMetricData"
        return (Operation("PostMetricData", "POST", path, self.post, Message, PostMetricDataDetails, family),)

    def post(self, call: Call) -> Answer:
        """PostMetricData: what fits is taken, the rest is told; ATOMIC takes all or nothing."""
        details: PostMetricDataDetails = call.body
        if len(details.metric_data) > self.most_streams:
            raise refusal.invalid(f"field metricData: more than {self.most_streams} metric streams in one call")
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
        return Answer({"failedMetricsCount": len(failed), "failedMetrics": failed})

    def _mistake(self, entry: MetricDataDetails) -> str:
        """What is wrong with a posted stream; empty if nothing. Rules documented: MetricDataDetails, Datapoint."""
        now = self.now()
        checks = (
            (
                re.fullmatch(r"[A-Za-z]\w*", entry.namespace, re.ASCII),
                "namespace: letters, digits and underscores, a letter first",
            ),
            (
                not entry.namespace.startswith(("oci_", "oracle_")),
                "namespace: the prefixes oci_ and oracle_ are reserved",
            ),
            (
                re.fullmatch(r"[A-Za-z][\w.$-]*", entry.name, re.ASCII),
                "name: letters, digits and . _ - $, a letter first",
            ),
            (1 <= len(entry.dimensions) <= 20, "dimensions: 1 to 20 are needed"),
            (
                all(_dimension_fits(*item) for item in entry.dimensions.items()),
                "dimensions: a key or value is not allowed",
            ),
            (entry.datapoints, "datapoints: there is none"),
            (
                all(now - 7200 < epoch(point.timestamp) < now + 600 for point in entry.datapoints),
                "timestamp: must be less than two hours in the past and less than 10 minutes in the future",
            ),
            (
                entry.compartment_id in self.tenancy.compartment_ids,
                "compartmentId: not authorized, or no such compartment",
            ),
        )
        return next((message for holds, message in checks if not holds), "")

    def _take(self, entry: MetricDataDetails) -> None:
        definition = Definition(
            entry.namespace,
            entry.resource_group,
            entry.compartment_id,
            entry.name,
            entry.dimensions,
            entry.metadata or {},
        )
        for point in entry.datapoints:
            minute = -int(-epoch(point.timestamp) // 60)
            self.feed.post(definition, minute, (point.value, point.count))


def _dimension_fits(name: str, value: str) -> bool:
    return re.fullmatch(r"[!-~]{1,256}", name) is not None and 1 <= len(value) <= 512
