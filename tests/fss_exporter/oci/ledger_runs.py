"""Minutes of two mount targets, counted while resources are missing in listings, minutes come late and the exporter restarts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.clock import NOON
from tests.fss_exporter.oci.fake_cloud import FakeCloud, mount_target
from tests.fss_exporter.oci.polled_region import PolledRegion
from tests.fss_exporter.oci.test_minute_judge import FIGURES

from fss_exporter.errors import Unreachable
from fss_exporter.oci.ledger import MINUTE, Ledger
from fss_exporter.oci.ledger.ledger_file import LedgerOwner, dump, load
from fss_exporter.oci.minute_metrics import BY_MINUTE
from fss_exporter.settings import LimitSettings

NAMES = ("a", "b")
READ = "MountTargetReadThroughput"
DOWN = Unreachable("down", operation="SummarizeMetricsData")


OWNER = LedgerOwner("eu", "a:1")


def kept(ledger: Ledger) -> Ledger:
    """What a file keeps of a ledger."""
    return load(dump(ledger, OWNER), OWNER.place)[0]


@dataclass
class LedgerRun:
    """Two mount targets in an exporter that may restart. Each minute has another figure, so that no mistake cancels another."""

    cloud: FakeCloud = field(default_factory=lambda: FakeCloud([mount_target(name) for name in NAMES]))
    held_back: dict[int, int] = field(default_factory=dict)  # minutes that a minute comes late, by its number
    down: bool = False
    limits: LimitSettings = field(default_factory=LimitSettings)

    def __post_init__(self) -> None:
        self.cloud.has_file_systems, self.cloud.names, self.cloud.figure = True, BY_MINUTE, self._figure
        self.cloud.refuse = lambda operation: DOWN if self.down and operation == "SummarizeMetricsData" else None
        self.start(PolledRegion(self.cloud))

    def start(self, poll: PolledRegion) -> None:
        """Use a new exporter from now on, which lists resources in each minute."""
        self.poll = poll
        oci = poll.settings.oci.model_copy(update={"inventory_interval": 60.0})
        poll.settings = poll.settings.model_copy(update={"oci": oci, "limits": self.limits})

    def restart(self) -> None:
        """Begin a new exporter with what the old one kept."""
        self.start(PolledRegion(self.cloud, now=self.poll.now, ledger=kept(self.poll.ledger)))

    def _figure(self, metric: str, _: str, end: int) -> float | None:
        minute = (end - NOON) // MINUTE
        if end + self.held_back.get(minute, 0) * MINUTE > self.poll.now:
            return None
        return float(minute * minute) if metric == READ and minute > 0 else FIGURES.get(metric)

    @property
    def minute(self) -> int:
        """The newest complete minute."""
        return int(self.poll.now - NOON) // MINUTE

    def truth(self) -> float:
        """What the counter of each mount target must show."""
        return sum(minute * minute for minute in range(1, self.minute + 1)) * 60.0

    def judged(self) -> dict[str, float]:
        """Minutes judged of each mount target, whatever the verdict."""
        (region,) = self.poll.board.regions
        assert region.poll is not None
        counted = {ocid: target.minutes for ocid, target in region.poll.targets.items()}
        return {ocid: sum(minutes.values()) / 2 for ocid, minutes in counted.items()}


@dataclass(frozen=True)
class Situation:
    """What happens in each poll, and which minutes come late by how many minutes."""

    events: tuple[str, ...] = ()  # of each poll: `flap`, `skip`, `down`, `restart`, `restart twice` or nothing
    held_back: Mapping[int, int] = field(default_factory=dict)

    def played(self, limits: LimitSettings | None = None) -> LedgerRun:
        """Play the events, and then half an hour in which all is well."""
        run = LedgerRun(held_back=dict(self.held_back), limits=limits or LimitSettings())
        run.poll.minute()
        for event in self.events:
            run.cloud.unlisted = ("a",) if event == "flap" else ()
            run.down = event == "down"
            for _ in range(event.count("restart") + event.count("twice")):
                run.restart()
            if event == "skip":
                run.poll.now += 60.0
            run.poll.minute()
        run.cloud.unlisted, run.down = (), False
        for _ in range(max(60 - run.minute, 35)):
            run.poll.minute()
        return run


# Situations in which each minute counts once.
SITUATIONS = {
    "all is well": Situation(),
    "missing in one listing": Situation(("", "flap")),
    "missing in six listings": Situation(("", "flap") * 6),
    "missing in ten listings in a row": Situation(("flap",) * 10),
    "a minute comes nine minutes late": Situation(held_back={20: 9}),
    "all minutes come eight minutes late": Situation(held_back=dict.fromkeys(range(10, 40), 8)),
    "minutes come in pairs": Situation(held_back=dict.fromkeys(range(1, 60, 2), 1)),
    "each second poll is left out": Situation(("skip",) * 15),
    "OCI fails for ten minutes": Situation(("down",) * 10),
    "a restart": Situation(("", "restart")),
    "a restart in each minute": Situation(("restart",) * 20),
    "a flap, a late minute and a restart together": Situation(
        ("", "flap", "restart", "down", "skip", "restart twice"), {3: 9, 5: 4}
    ),
}
