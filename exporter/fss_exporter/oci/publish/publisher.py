# SPDX-License-Identifier: Apache-2.0
"""Post custom metrics to OCI Monitoring, so that a single alarm serves every shape and ceiling.

Each point is posted once. Posting costs money and is off by default.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from fss_exporter.errors import BrokenAnswer, CloudError, NotAuthorized, SourceError, Throttled
from fss_exporter.oci.calls import FailureLog
from fss_exporter.oci.cloud_client import CloudClient
from fss_exporter.oci.publish.published_metrics import PublishedPoint, metric_data, points_of
from fss_exporter.oci.snapshot import RegionSnapshot
from fss_exporter.settings import Settings

MOST_POSTED_STREAMS: Final = 50  # most streams in a PostMetricData. Source: PostMetricDataDetails

# Halvings of a post at most, so 24 more calls. One bad stream of fifty takes six, and what is left over is halved with the next post.
_MOST_HALVINGS: Final = 12

_CONTENT_REFUSED: Final = frozenset((400, 413))  # HTTP statuses of a call that OCI refuses for what it holds

_OLDEST_SECONDS: Final = 3600.0  # OCI takes points of the last two hours


class Poster:
    """Posts points, each once, and none that is older than an hour.

    OCI can refuse a whole call for one stream. Then each half is posted alone, and so on, until the bad stream is alone. From then on it has a
    call of its own.

    Args:
        now: returns epoch seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        # By stream, the end of the newest minute that was posted, and of the newest for which OCI has refused a call.
        self._posted: dict[tuple[str, str], int] = {}
        self._refused: dict[tuple[str, str], int] = {}
        self._halvings = 0  # that may still be made

    def post(self, points: Iterable[PublishedPoint], client: CloudClient, failures: FailureLog) -> bool:
        """Post the new points. Return whether OCI took all. A refused point stays new, so a caller may give it again."""
        oldest = self._now() - _OLDEST_SECONDS
        self._posted = {key: minute for key, minute in self._posted.items() if minute >= oldest}
        self._refused = {key: minute for key, minute in self._refused.items() if minute >= oldest}
        fresh = [point for point in points if point.minute >= oldest and point.minute > self._posted.get(point.key, 0)]
        self._halvings = _MOST_HALVINGS
        took_all = True
        for group in _apart(fresh, self._refused):
            for start in range(0, len(group), MOST_POSTED_STREAMS):
                took_all &= self._post(group[start : start + MOST_POSTED_STREAMS], client, failures)
        failures.end_round()
        return took_all

    def _post(self, part: Sequence[PublishedPoint], client: CloudClient, failures: FailureLog) -> bool:
        try:
            refused = client.post_metric_data([metric_data(point) for point in part])
        except CloudError as error:
            if error.status not in _CONTENT_REFUSED:
                if error.status is None and not isinstance(error, Throttled | NotAuthorized):
                    self._note_posted(part)  # OCI may have taken them, and the next minute has points of its own
                failures.report("PostMetricData", error)
                return False
            if len(part) > 1 and self._halvings:
                self._halvings -= 1
                middle = len(part) // 2
                halves = [self._post(half, client, failures) for half in (part[:middle], part[middle:])]
                return all(halves)
            self._refused |= {point.key: point.minute for point in part}
            failures.report("PostMetricData", _named(error, part))
            return False
        bad = {refusal.place for refusal in refused}
        taken = [point for place, point in enumerate(part) if place not in bad]
        self._note_posted(taken)
        for point in taken:
            self._refused.pop(point.key, None)
        if not refused:
            failures.report("PostMetricData", None)
            return True
        number = f"{len(refused)} of {len(part)} streams were refused, the first: {refused[0].reason}"
        message = f"PostMetricData in {client.region}: {number}"
        failures.report("PostMetricData", BrokenAnswer(message, operation="PostMetricData"))
        return False

    def _note_posted(self, points: Iterable[PublishedPoint]) -> None:
        self._posted |= {point.key: point.minute for point in points}


def _apart(
    points: Sequence[PublishedPoint], refused: Collection[tuple[str, str]]
) -> tuple[Sequence[PublishedPoint], Sequence[PublishedPoint]]:
    """Return the points of streams that were never refused, and those of the others."""
    return [point for point in points if point.key not in refused], [point for point in points if point.key in refused]


def _named(error: CloudError, part: Sequence[PublishedPoint]) -> CloudError:
    """Return the refusal of a call with the stream that it is about."""
    first, *others = part
    also = f" or one of {len(others)} others" if others else ""
    message = f"{error}; it refuses {first.name} of {first.subject}{also}"
    return CloudError(message, operation=error.operation, status=error.status, request_id=error.request_id)


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
