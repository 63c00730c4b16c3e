"""A poller that stands by asks nothing and shows nothing of OCI, and goes on where the leader ended: each minute counts once."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.clock import Clock
from tests.exposition_text import collected, declaration
from tests.fss_exporter.oci.world import START
from tests.region import Region, small

from fss_exporter.errors import ConfigError, UsageError
from fss_exporter.oci.polling.lease import RENEW_SECONDS
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import load
from fss_exporter.web.collecting import Collectors

READ = "fss_mount_target_read_bytes_total"


class OnePoller:
    """A poller with a page of metrics, whose loops run when a test says so."""

    def __init__(self, settings: dict[str, object], clock: Clock) -> None:
        self.clock = clock
        self.poller = Poller(lambda: load(None, settings), now=clock, clock=clock, wait=clock.wait)
        source = OciCollector(self.poller.accounts, now=clock, lease=self.poller.lease)
        self.collectors = Collectors({"oci": source}, self.poller.loops, clock)

    def look(self) -> None:
        """One look at the lease."""
        self.poller.loops[0].run_once()

    def poll(self) -> None:
        """One round of each other loop."""
        for loop in self.poller.loops[1:]:
            loop.run_once()

    def values(self, name: str, *by: str) -> dict[tuple[str, ...], float]:
        return {
            tuple(sample.labels[label] for label in by): sample.value
            for family in collected(self.collectors)
            for sample in family.samples
            if sample.name == name
        }

    @property
    def leads(self) -> bool:
        return self.values("fss_oci_leader") == {(): 1.0}

    @property
    def polled(self) -> set[str]:
        """Names of the metrics with the label of a tenancy."""
        return {
            declared.name for declared in map(declaration, collected(self.collectors)) if "tenancy" in declared.labels
        }


class Pair:
    """Pollers of one region that share a directory."""

    def __init__(self, region: Region, clock: Clock, folder: Path, **settings: object) -> None:
        self.region, self.clock = region, clock
        config = region.account.write_config(folder, region.tenancy.region)
        (folder / "shared").mkdir()
        own = {"config_file": str(config), "endpoint": region.url, "services": (), "standby": True}
        self.settings: dict[str, object] = {
            f"oci.{name}": value
            for name, value in {**own, "ledger_directory": str(folder / "shared"), **settings}.items()
        }
        self.pollers = [self.start(), self.start()]
        self.stopped: set[int] = set()

    def start(self) -> OnePoller:
        return OnePoller(self.settings, self.clock)

    def minute(self, number: int = 1) -> None:
        """A minute: the looks of both, and a poll of both."""
        for _ in range(number):
            for _ in range(int(60 / RENEW_SECONDS)):
                for running in self.running:
                    running.look()
                self.clock.now += RENEW_SECONDS
            for running in self.running:
                running.poll()

    @property
    def running(self) -> list[OnePoller]:
        return [poller for number, poller in enumerate(self.pollers) if number not in self.stopped]

    @property
    def leader(self) -> OnePoller:
        (leader,) = (poller for poller in self.running if poller.leads)
        return leader

    @property
    def standby(self) -> OnePoller:
        (standby,) = (poller for poller in self.running if not poller.leads)
        return standby


@pytest.fixture
def pair(
    regions_in_memory: Callable[..., Region], clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Pair:
    clock.now = START
    monkeypatch.setattr("circuitbreaker.monotonic", clock)
    return Pair(regions_in_memory(small()), clock, tmp_path)


def test_a_poller_that_stands_by_asks_nothing_and_shows_nothing_of_oci(pair: Pair) -> None:
    pair.minute(3)
    assert "fss_mount_target_info" in pair.leader.polled
    assert pair.standby.polled == set()
    calls = sum(pair.region.calls.values())
    pair.standby.poll()
    assert sum(pair.region.calls.values()) == calls


def test_a_poller_that_stands_by_is_ready_and_no_collector_of_it_fails(pair: Pair) -> None:
    assert pair.pollers[1].poller.waits_for().startswith("the first look at "), "it does not know yet"
    pair.minute(3)
    assert pair.standby.poller.waits_for() == ""
    success = pair.standby.values("fss_collector_success", "collector")
    assert ("oci",) not in success, "it would hide a leader without answers from FssMonitoringBlind"
    assert set(success.values()) == {1.0}
    assert pair.leader.values("fss_collector_success", "collector")["oci",] == 1


def test_a_leader_is_ready_once_oci_has_answered_whatever_it_knew_before(pair: Pair) -> None:
    pair.minute(3)
    pair.region.add_fault("500:SummarizeMetricsData")
    first, second = pair.leader, pair.standby
    assert first.poller.waits_for() == second.poller.waits_for() == ""
    first.poller.stop()
    pair.stopped = {pair.pollers.index(first)}
    pair.minute(3)
    assert second.leads
    assert second.poller.waits_for() == "a first answer of OCI in every region"
    pair.region.clear_faults()
    pair.minute(2)
    assert second.poller.waits_for() == ""


def end(pair: Pair) -> None:
    """SIGTERM, and a new process."""
    number = pair.pollers.index(pair.leader)
    pair.pollers[number].poller.stop()
    pair.pollers[number] = pair.start()


def kill(pair: Pair) -> None:
    """SIGKILL, and a new process."""
    pair.pollers[pair.pollers.index(pair.leader)] = pair.start()


def pause(pair: Pair) -> None:
    """SIGSTOP of the leader, and SIGCONT after three minutes, in the middle of a poll."""
    number = pair.pollers.index(pair.leader)
    pair.stopped = {number}
    pair.minute(3)
    pair.stopped = set()
    pair.pollers[number].poll()


def delete(pair: Pair) -> None:
    """The file goes."""
    for path in Path(str(pair.settings["oci.ledger_directory"])).glob("*.leader"):
        path.unlink()


def start_again(pair: Pair) -> None:
    """Both end and start at once."""
    for poller in pair.pollers:
        poller.poller.stop()
    pair.pollers = [pair.start(), pair.start()]


def test_each_minute_counts_once_over_any_change_of_the_leader(pair: Pair) -> None:
    pair.minute(4)
    for event in (end, kill, pause, delete, start_again):
        before = read_bytes(pair)
        event(pair)
        pair.minute(3)
        after = read_bytes(pair)
        assert all(after[key] > before[key] for key in ("mt-home", "mt-media")), "the counters go on"
        assert after == truth(pair)


def read_bytes(pair: Pair) -> dict[str, float]:
    """The counter of the leader, by mount target."""
    return {name: value for (name,), value in pair.leader.values(READ, "mount_target").items()}


def truth(pair: Pair) -> dict[str, float]:
    """What the region published since the first leader began."""
    (file,) = Path(str(pair.settings["oci.ledger_directory"])).glob("*.ledger.json")
    first, last = json.loads(file.read_text())["start"] // 60 + 1, pair.region.minute
    counted = {}
    for target in small().mount_targets:
        points = [
            pair.region.truth("MountTargetReadThroughput", target.name, minute, throughput="ReadThroughput")
            for minute in range(first, last + 1)
        ]
        counted[target.name] = sum(60 * point for point in points if point is not None)
    return {name: value for name, value in counted.items() if name in read_bytes(pair)}


def test_a_leader_that_goes_on_after_another_one_led_does_not_write_over_its_ledger(pair: Pair) -> None:
    pair.minute(3)
    old = pair.leader
    pair.stopped = {pair.pollers.index(old)}
    pair.minute(3)
    kept = {path: path.read_bytes() for path in Path(str(pair.settings["oci.ledger_directory"])).iterdir()}
    assert old.leads, "it has not looked yet"
    old.poll()
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_leader_that_becomes_the_poller_that_stands_by_shows_nothing_of_oci_any_more(pair: Pair) -> None:
    pair.minute(3)
    old = pair.leader
    pause(pair)
    pair.minute()
    assert not old.leads
    assert old.polled == set()
    assert pair.leader is not old


def test_shards_and_accounts_have_leases_of_their_own(pair: Pair, tmp_path: Path) -> None:
    """A second shard behind the lease of the first would never poll."""
    for shard in ("1/2", "2/2"):
        pair.pollers.append(OnePoller({**pair.settings, "oci.shard": shard}, pair.clock))
    for name in ("acme", "beta"):
        pair.pollers.append(OnePoller({**pair.settings, "oci.name": name}, pair.clock))
    for _ in range(2):
        for poller in pair.pollers:
            poller.look()
    assert [poller.leads for poller in pair.pollers] == [True, False, True, True, True, True]
    assert sorted(path.name for path in (tmp_path / "shared").glob("*.leader")) == [
        "fss-exporter-1-of-2.leader",
        "fss-exporter-2-of-2.leader",
        "fss-exporter-acme.leader",
        "fss-exporter-beta.leader",
        "fss-exporter.leader",
    ]


def test_a_poller_behind_the_lease_of_another_tenancy_fails_and_says_what_to_do(
    pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without names both have one lease, and the second would never poll."""
    config = tmp_path / "other"
    own = Path(str(pair.settings["oci.config_file"])).read_text()
    config.write_text(own.replace(small().id, "ocid1.tenancy.oc1..other"))
    pair.pollers[1] = OnePoller({**pair.settings, "oci.config_file": str(config)}, pair.clock)
    pair.minute(2)
    assert pair.leader is pair.pollers[0]
    assert pair.standby.values("fss_collector_success", "collector")["oci_lease",] == 0
    theirs, own = (
        f"{tenancy} in {small().region} with services none" for tenancy in (small().id, "ocid1.tenancy.oc1..other")
    )
    assert f"leads for {theirs}, and this poller is of {own}. Give" in caplog.text
    kill(pair)
    pair.minute()
    assert pair.pollers[1].leads, "a lease that nobody renews is free for all"


@pytest.mark.parametrize(
    ("name", "setting", "value", "own"),
    [
        (None, "oci.regions", ("eu-paris-1", small().region), f"{small().region}+eu-paris-1 with services none"),
        ("acme", "oci.compartments", ("a:b",), small().region + ' with compartments "a:b", services none'),
        (
            None,
            "oci.include",
            {"tags": {"team": "a  b"}},
            small().region + ' with include tags team "a b", services none',
        ),
    ],
)
def test_a_poller_behind_the_lease_of_a_leader_that_polls_another_part_fails_and_says_what_to_do(
    pair: Pair, name: str | None, setting: str, value: object, own: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The second one would never poll its part, because the leader does not."""
    pair.settings["oci.name"] = name
    other = {**pair.settings, setting: value}
    pair.pollers = [pair.start(), OnePoller(other, pair.clock)]
    pair.minute(2)
    assert pair.leader is pair.pollers[0]
    assert pair.standby.values("fss_collector_success", "collector")["oci_lease",] == 0
    of = name or small().id
    assert (
        f"leads for {of} in {small().region} with services none, and this poller is of {of} in {own}. Give both"
        in caplog.text
    )
    pair.pollers[0] = OnePoller(other, pair.clock)
    pair.minute(2)
    assert pair.standby.values("fss_collector_success", "collector")["oci_lease",] == 1


def test_the_order_of_regions_makes_no_other_lease(pair: Pair) -> None:
    regions = ("eu-paris-1", small().region)
    pair.pollers = [
        OnePoller({**pair.settings, "oci.regions": names}, pair.clock) for names in (regions, regions[::-1])
    ]
    pair.minute(2)
    assert pair.standby.values("fss_collector_success", "collector")["oci_lease",] == 1


def test_a_poller_that_stands_by_without_usable_credentials_fails(pair: Pair, tmp_path: Path) -> None:
    pair.pollers[1] = OnePoller({**pair.settings, "oci.config_file": str(tmp_path / "none")}, pair.clock)
    pair.minute(2)
    assert pair.standby is pair.pollers[1]
    assert pair.standby.values("fss_collector_success", "collector")["oci_inventory",] == 0


def test_to_stand_by_without_a_shared_directory_is_a_mistake_of_the_settings() -> None:
    with pytest.raises(ConfigError, match="standby needs ledger_directory, which the pollers share"):
        load(None, {"oci.standby": True})


def test_a_change_of_the_lease_takes_a_restart(pair: Pair) -> None:
    pair.settings["oci.standby"] = False
    with pytest.raises(UsageError, match="takes a restart"):
        pair.pollers[0].poller.reload()
