# SPDX-License-Identifier: Apache-2.0
"""Post custom metrics to OCI Monitoring, so that a single alarm serves every shape and ceiling.

Each point is posted once. Posting costs money and is off by default.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from fss_exporter.errors import BrokenAnswer, CloudError, SourceError
from fss_exporter.oci.calls import FailureLog
from fss_exporter.oci.cloud_client import CloudClient
from fss_exporter.oci.publish.published_metrics import PublishedPoint, metric_data, points_of
from fss_exporter.oci.snapshot import RegionSnapshot
from fss_exporter.settings import Settings

MOST_POSTED_STREAMS: Final = 50  # most streams in a PostMetricData. Source: PostMetricDataDetails

_OLDEST_SECONDS: Final = 3600.0  # OCI takes points of the last two hours


class Poster:
    """Posts points, each once, and none that is older than an hour.

    Args:
        now: returns epoch seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._posted: dict[tuple[str, str], int] = {}

    def post(self, points: Iterable[PublishedPoint], client: CloudClient, failures: FailureLog) -> bool:
        """Post the new points. Return whether OCI took all. A refused point stays new, so a caller may give it again."""
        oldest = self._now() - _OLDEST_SECONDS
        fresh = [point for point in points if point.minute >= oldest and point.minute > self._posted.get(point.key, 0)]
        took_all = True
        for start in range(0, len(fresh), MOST_POSTED_STREAMS):
            part = fresh[start : start + MOST_POSTED_STREAMS]
            try:
                refused = client.post_metric_data([metric_data(point) for point in part])
            except CloudError as error:
                failures.report("PostMetricData", error)
                took_all = False
                continue
            if refused:  # perhaps a part only; all of them stay new
                number = f"{len(refused)} of {len(part)} streams were refused, the first: {refused[0]}"
                message = f"PostMetricData in {client.region}: {number}"
                failures.report("PostMetricData", BrokenAnswer(message, operation="PostMetricData"))
                took_all = False
            else:
                self._posted |= {point.key: point.minute for point in part}
                failures.report("PostMetricData", None)
        failures.end_round()
        return took_all


class Publisher:
    """The rounds of the loop `oci_publish`. A round posts the points of each region soon after a poll.

    Args:
        regions: returns the newest snapshots.
        client: returns the client of a region, by its name.
        settings: returns limits of mount targets, which may change while the exporter runs.
        failures: returns the log of failed posts of a region, by its name.
        now: returns epoch seconds.
    """

    def __init__(
        self,
        regions: Callable[[], Sequence[RegionSnapshot]],
        client: Callable[[str], CloudClient],
        settings: Callable[[], Settings],
        *,
        failures: Callable[[str], FailureLog],
        now: Callable[[], float],
    ) -> None:
        self._regions = regions
        self._client = client
        self._settings = settings
        self._failures = failures
        self._now = now
        self._polled: dict[str, float] = {}
        self._incomplete: set[str] = set()  # regions with a refused point since the last poll
        self._poster = Poster(self._now)

    def run_round(self) -> None:
        """Post the points of polls since the last round.

        Raises:
            SourceError: not everything was posted since the last poll.
            EndLoop: the exporter stops.
        """
        for region in self._regions():
            ended = region.poll.ended if region.poll else None
            if ended is not None and self._polled.get(region.region) != ended:
                self._polled[region.region] = ended
                self._publish(region)
        if self._incomplete:
            raise SourceError(f"not all metrics could be posted: {', '.join(sorted(self._incomplete))}")

    def _publish(self, region: RegionSnapshot) -> None:
        name = region.region
        points = points_of(region, self._settings())
        if self._poster.post(points, self._client(name), self._failures(name)):
            self._incomplete.discard(name)
        else:
            self._incomplete.add(name)
