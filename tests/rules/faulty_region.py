"""The demo region with the faults of an incident: a region in memory whose data and answers follow the minutes of the incident."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from typing import Any, ClassVar, TypeVar

from tests.region import Account, shared_account
from tests.region.in_memory import InMemoryRegion
from tests.region.strict import SpeltPoints
from tests.rules import faults

from fss_toolbox.demo.region import Tenancy, large, small
from fss_toolbox.demo.region.activity import Activity
from fss_toolbox.demo.region.api_operations import ApiOperation
from fss_toolbox.demo.region.demo_tenancy import Link, RequestMix, RequestRate
from fss_toolbox.demo.region.metric_streams import PublishedMetric, PublishedStream
from fss_toolbox.demo.region.point_store import PointStore
from fss_toolbox.demo.region.wire import ApiRequest

# Requests a second of a mount target in ordinary work: 5,000 IOPS, a tenth of the ceiling.
MIX = RequestMix(
    (
        RequestRate("READ", 32_768, 500, 2),
        RequestRate("READ", 1_048_576, 20, 33),
        RequestRate("WRITE", 32_768, 200, 4),
        RequestRate("GETATTR", 0, 1_740, 1),
        RequestRate("LOOKUP", 0, 300, 2),
        RequestRate("CREATE", 0, 50, 4),
    )
)

ORDINARY_DELAY_MINUTES = 1.0
_EVENTS = (
    "KerberosErrors",
    "LdapConnectionErrors",
    "LdapRequestErrors",
    "UserSoftQuotaViolations",
    "UserHardQuotaViolations",
)

_LATENCIES = (
    "FileSystemReadAverageLatencybySize",
    "FileSystemWriteAverageLatencybySize",
    "MetadataRequestAverageLatency",
)

_Fault = TypeVar("_Fault", bound=faults.Fault)


def tenancy(
    mount_targets: int,
    file_systems: int = 1,
    *,
    publishes_iops: bool = True,
    has_extras: bool = False,
    shares: bool = False,
) -> Tenancy:
    """Return mount targets that are all alike, with so many file systems each.

    With `has_extras`, mount targets have LDAP, Kerberos and quotas, and there are a replication and block volumes. With `shares`,
    all mount targets export one file system.
    """
    plain, demo = large(mount_targets, file_systems), small()
    links = tuple(replace(link, requests=MIX) for link in plain.links)
    if shares:
        links = tuple(replace(link, file_system_id=links[0].file_system_id) for link in links)
    site = replace(
        plain,
        mount_targets=tuple(replace(target, health=100.0) for target in plain.mount_targets),
        links=links,
        publishes_iops=publishes_iops,
    )
    if not has_extras:
        return site
    (compartment,) = plain.compartments
    here: dict[str, Any] = {"compartment_id": compartment.id, "availability_domain": plain.availability_domains[0]}
    (connector,), (copied,) = demo.connectors, demo.replications
    return replace(
        site,
        mount_targets=tuple(
            replace(mount_target, kerberos=True, connector_id=connector.id) for mount_target in site.mount_targets
        ),
        file_systems=tuple(replace(file_system, quota_rules=True) for file_system in plain.file_systems),
        connectors=(replace(connector, **here),),
        replications=(replace(copied, file_system_id=plain.file_systems[0].id, **here),),
        volumes=tuple(replace(volume, **here) for volume in demo.volumes),
    )


class IncidentActivity(Activity):
    """Requests without noise: ordinary work times `factor` of mount target and minute of the epoch."""

    factor: Callable[[str, int], float] = staticmethod(lambda _target, _minute: 1.0)

    def _demand(self, link: Link, minute: int) -> float:
        return self.factor(link.mount_target_id, minute)


class IncidentPoints(SpeltPoints):
    """Points with the values and the delays of an incident."""

    value: Callable[[str, PublishedStream, int], float | None] = staticmethod(
        lambda _name, stream, minute: stream.value(minute)
    )
    delay_minutes: Callable[[int], float] = staticmethod(lambda _minute: ORDINARY_DELAY_MINUTES)

    def streams(self, metric: PublishedMetric) -> list[PublishedStream]:
        """Return the streams of a metric."""
        return [replace(stream, value=partial(self.value, metric.name, stream)) for stream in super().streams(metric)]

    def arrival(self, stream: PublishedStream, minute: int) -> float:
        """Return epoch seconds from which the point of a minute can be read."""
        del stream
        return (minute + self.delay_minutes(minute)) * 60


class IncidentRegion(InMemoryRegion):
    """A region with the faults of an incident, which starts at epoch second `start`. `now` is the true time."""

    activity: ClassVar[type[Activity]] = IncidentActivity
    point_store: ClassVar[type[PointStore]] = IncidentPoints

    def __init__(
        self,
        targets: Tenancy,
        of_incident: Sequence[faults.Fault],
        *,
        start: int,
        now: Callable[[], float],
        hung_share: Callable[[int, float], float],
    ) -> None:
        key = shared_account()
        account = Account(targets.id, key.user_id, key.key)
        super().__init__(targets, account=account, now=now, calls_per_second={})
        self._faults, self._start, self._hung_share = of_incident, start, hung_share
        self._number = {target.id: number for number, target in enumerate(targets.mount_targets)}
        each = len(targets.links) // max(len(targets.mount_targets), 1)
        self._system = {link.file_system_id: at % each for at, link in enumerate(targets.links)}
        self._number |= {link.file_system_id: self._number[link.mount_target_id] for link in targets.links}
        assert isinstance(self._activity, IncidentActivity)
        assert isinstance(self.store, IncidentPoints)
        self._activity.factor = self._factor
        self.store.value, self.store.delay_minutes = self._value, self._delay
        self._answers: tuple[str, ...] = ()

    def turn(self, poller: int) -> None:
        """Set the faults of the API that are there now for a poller."""
        there = self._on(faults.Answer, self._minute(self._now() / 60))
        wanted = tuple(fault.fault for fault in there if fault.poller in (None, poller))
        if wanted != self._answers:
            self._answers = wanted
            self.clear_faults()
            for text in wanted:
                self.add_fault(text)

    def respond(self, request: ApiRequest) -> tuple[int, Any, bytes]:
        """Status, headers and body of the answer to a request, with the true time."""
        status, headers, content = super().respond(request)
        return status, {"date": formatdate(self._now(), usegmt=True), **headers}, content

    def spoil(
        self, operation: ApiOperation | None, request: ApiRequest, headers: dict[str, str], content: bytes
    ) -> bytes:
        """Leave mount targets out of a listing, or change their fields."""
        content = super().spoil(operation, request, headers, content)
        rows = json.loads(content) if operation and operation.name in {"ListMountTargets", "ListLimitValues"} else None
        if not isinstance(rows, list):
            return content
        minute = self._minute(self._now() / 60)
        hidden = {fault.target for fault in self._on(faults.Unlisted, minute)}
        changed = self._on(faults.Listed, minute)
        limits = {fault.name: fault.value for fault in self._on(faults.ServiceLimit, minute)}
        shown = []
        for row in rows:
            number = self._number.get(row.get("id", ""))
            if number is None:
                shown.append({**row, "value": limits.get(row["name"], row["value"])})
            elif number not in hidden:
                shown.append(row | {fault.field: fault.value for fault in changed if fault.target == number})
        content = json.dumps(shown).encode()
        headers["content-length"] = str(len(content))
        return content

    def _minute(self, epoch_minute: float) -> float:
        return epoch_minute - self._start / 60

    def _on(self, kind: type[_Fault], minute: float) -> Iterable[_Fault]:
        return [fault for fault in self._faults if isinstance(fault, kind) and fault.is_on(minute)]

    def _factor(self, target: str, epoch_minute: int) -> float:
        minute, number = self._minute(epoch_minute - 1), self._number[target]
        factor = 1.0 - self._hung_share(number, minute)
        for work in self._on(faults.Work, minute):
            if work.side != "clients" and work.hits_target(number):
                factor *= work.times
        return factor

    def _value(self, metric: str, stream: PublishedStream, epoch_minute: int) -> float | None:
        minute, number = self._minute(epoch_minute - 1), self._number.get(stream.resource_id)
        value = 0.0 if metric in _EVENTS else stream.value(epoch_minute)
        if number is not None:
            value = self._of_target(metric, stream, value, minute, number)
        for other in self._on(faults.Published, minute):
            if other.hits_target(number) and other.hits_stream(metric, tuple(stream.dimensions.values())):
                value = other.value
        return value

    def _of_target(
        self, metric: str, stream: PublishedStream, value: float | None, minute: float, number: int
    ) -> float | None:
        if metric in _LATENCIES and value is not None:
            slow = [
                fault
                for fault in self._on(faults.Slow, minute)
                if fault.side != "clients" and fault.hits_target(number)
                if fault.kind in metric and fault.file_system in (None, self._system.get(stream.resource_id))
            ]
            value = slow[0].milliseconds / 1000 if slow else value
        if metric == "MountTargetHealth":
            failing = self._on(faults.Failing, minute)
            share = sum(fault.share for fault in failing if fault.side != "clients" and fault.hits_target(number))
            value = 100 * (1 - share if stream.dimensions["healthItem"] == "SuccessRate" else share)
        return value

    def _delay(self, epoch_minute: int) -> float:
        minute = self._minute(epoch_minute)
        late = [fault.minutes for fault in self._on(faults.Late, minute)]
        late += [fault.end - minute for fault in self._on(faults.Silent, minute)]
        groups = [fault.minutes - 1 - epoch_minute % fault.minutes for fault in self._on(faults.InGroups, minute)]
        return max(late, default=ORDINARY_DELAY_MINUTES) + max(groups, default=0)
