"""What can go wrong in an incident. A fault is a record: what, from which minute to which, and whom it hits.

Minutes count from the start of the incident. A fault that says nothing else lasts until the end of the incident.
`every=40, lasting=1.5` makes a fault come again each 40 minutes, for a minute and a half.
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from typing import Literal

Side = Literal["oci", "clients", "both"]


@dataclass(frozen=True)
class Fault:
    """Anything that goes wrong for a while."""

    begin: float = 0.0
    end: float = inf
    every: float = inf  # comes again after so many minutes
    lasting: float = inf  # of every time

    def is_on(self, minute: float) -> bool:
        """Return whether the fault is there in a minute. Fractions are seconds."""
        if not self.begin <= minute < self.end:
            return False
        return self.every == inf or (minute - self.begin) % self.every < self.lasting


@dataclass(frozen=True)
class OfHosts(Fault):
    """A fault of hosts."""

    hosts: int | None = None  # number of hosts that are hit. None for all
    first: int = 0  # number of the first of them

    def hits_host(self, number: int) -> bool:
        """Return whether a host is hit."""
        return number >= self.first and (self.hosts is None or number < self.first + self.hosts)


@dataclass(frozen=True)
class OfTargets(OfHosts):
    """A fault between hosts and mount targets."""

    targets: tuple[int, ...] | None = None  # numbers of mount targets. None for all

    def hits_target(self, number: int) -> bool:
        """Return whether a mount target is hit."""
        return self.targets is None or number in self.targets


@dataclass(frozen=True)
class Hang(OfTargets):
    """No request is answered. Programs wait, as with hard mounts, and OCI counts nothing of what waits."""


@dataclass(frozen=True)
class GiveUp(OfTargets):
    """No request is answered, and soft mounts give up after three minutes. The only program tries again after a pause."""

    pause_minutes: float = 3.0


@dataclass(frozen=True)
class Slow(OfTargets):
    """Each request takes so long."""

    milliseconds: float = 100.0
    side: Side = "both"  # who sees it
    kind: str = ""  # `Read`, `Write` or `Metadata` as OCI alone sees it. Empty for all
    file_system: int | None = None  # number among those of a mount target, as OCI alone sees it. None for all


@dataclass(frozen=True)
class LateReads(OfTargets):
    """A share of the READs takes longer by so much, as clients alone see it."""

    share: float = 0.02
    milliseconds: float = 200.0


@dataclass(frozen=True)
class Failing(OfTargets):
    """A share of the requests fails."""

    share: float = 0.1
    side: Side = "both"
    operation: str = ""  # procedure that fails, as clients alone see it. Empty for all
    asks_to_wait: bool = False  # by JUKEBOX, which means try again later


@dataclass(frozen=True)
class Retransmitting(OfHosts):
    """A share of the requests is sent again."""

    share: float = 0.1


@dataclass(frozen=True)
class Work(OfTargets):
    """Programs ask so many times the usual requests of the hosts, and OCI sees so many times the usual requests."""

    times: float = 1.0
    side: Side = "both"
    operation: str = ""  # procedure that is asked, as clients alone see it. Empty for all


@dataclass(frozen=True)
class Down(OfHosts):
    """The agents of hosts do not run."""

    is_listed: bool = True  # whether service discovery knows the target


@dataclass(frozen=True)
class SecondAgent(OfHosts):
    """Hosts run a second agent, as a package and a DaemonSet together do."""


@dataclass(frozen=True)
class OfPoller(Fault):
    """A fault of one poller, by its number."""

    poller: int = 0


@dataclass(frozen=True)
class LeaseUnreadable(OfPoller):
    """A poller cannot read the file with the name of the leader."""


@dataclass(frozen=True)
class PollerDown(OfPoller):
    """A poller does not run."""

    is_listed: bool = True  # whether service discovery knows the target


@dataclass(frozen=True)
class Repeating(OfPoller):
    """A poller answers each scrape with what it said when the fault began, as behind a cache."""


@dataclass(frozen=True)
class PollerStalled(OfPoller):
    """The loops of a poller stand still, and the poller goes on answering scrapes."""


@dataclass(frozen=True)
class Unreadable(OfHosts):
    """The exporters of hosts cannot read mountstats."""


@dataclass(frozen=True)
class OwnMounts(OfHosts):
    """Agents may not read process 1, and see the mounts of their own container in place of the host's."""


@dataclass(frozen=True)
class Unmounted(OfTargets):
    """A mount of /etc/fstab is gone."""


@dataclass(frozen=True)
class Garbled(OfHosts):
    """Mountstats has a further record that no parser knows."""


@dataclass(frozen=True)
class ReloadRefused(OfHosts):
    """Somebody reloads agents with a mistake in their configuration, and at the end without it."""


@dataclass(frozen=True)
class Stalled(OfHosts):
    """The loop of agents stands still, and agents go on answering scrapes."""


@dataclass(frozen=True)
class ScrapedRarely(OfHosts):
    """Prometheus scrapes hosts only each so many minutes, and with `pollers_too` pollers as well."""

    minutes: int = 6
    pollers_too: bool = False


@dataclass(frozen=True)
class HostClock(OfHosts):
    """The clock of hosts is wrong."""

    seconds: float = 600.0


@dataclass(frozen=True)
class Clock(OfPoller):
    """The clock of a poller is wrong."""

    seconds: float = 600.0


@dataclass(frozen=True)
class Late(Fault):
    """OCI publishes each minute so late."""

    minutes: float = 8.0


@dataclass(frozen=True)
class Silent(Fault):
    """OCI publishes nothing, and at the end all at once."""


@dataclass(frozen=True)
class InGroups(Fault):
    """OCI publishes so many minutes at once, when the last of them has ended."""

    minutes: int = 2


@dataclass(frozen=True)
class Published(Fault):
    """OCI publishes another value of a metric. None for nothing."""

    metric: str = ""  # documented name, or its begin
    value: float | None = None
    dimension: str = ""  # a value that the stream must have
    targets: tuple[int, ...] | None = None

    def hits_target(self, number: int | None) -> bool:
        """Return whether a mount target is hit. None for a resource that is none."""
        return self.targets is None or number in self.targets

    def hits_stream(self, metric: str, dimensions: Collection[str]) -> bool:
        """Return whether a stream of a mount target is hit."""
        return metric.startswith(self.metric) and (not self.dimension or self.dimension in dimensions)


@dataclass(frozen=True)
class Answer(Fault):
    """The API of OCI answers with a fault of the demo region, such as `503:SummarizeMetricsData,match=MountTargetHealth`."""

    fault: str = ""
    poller: int | None = None  # None for all


@dataclass(frozen=True)
class Unlisted(Fault):
    """ListMountTargets leaves a mount target out, although the mount target is there."""

    target: int = 0


@dataclass(frozen=True)
class Listed(Fault):
    """ListMountTargets has another value in a field of a mount target, such as `lifecycleState`."""

    field: str = ""
    value: object = None
    target: int = 0


@dataclass(frozen=True)
class ServiceLimit(Fault):
    """The tenancy may have only so many resources in an availability domain."""

    name: str = "mount-target-count"
    value: int = 1
