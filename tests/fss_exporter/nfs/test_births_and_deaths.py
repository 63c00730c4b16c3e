"""New mounts show zeros before their counts, unmounted ones vanish after the retention, and there is an end to how many are kept."""

import time
from collections.abc import Iterable

import pytest
from prometheus_client.core import Metric
from tests.exposition_text import collected
from tests.fss_exporter.nfs.records import Names, mountinfo, mountstats

from fss_exporter.nfs.accounts import RETENTION_SECONDS, Accounts
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.mountinfo import EVERY_MOUNT, MountFilter, parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.nfs.ticker import Ticker


def names(number: int) -> Names:
    return {"device": f"10.0.0.{3 + number % 2}:/{number}", "mount_point": f"/mnt/{number}"}


def look(*mounts: tuple[int, int, int], wanted: MountFilter = EVERY_MOUNT) -> Reading:
    """A reading of mounts: number, age, READs (and as many REMOVEs)."""
    stats = "".join(
        mountstats({"READ": reads, "REMOVE": reads}, age=age, **names(number)) for number, age, reads in mounts
    )
    info = "".join(
        mountinfo(superblock=f"0:{40 + number}", address=f"10.0.0.{3 + number % 2}", **names(number))
        for number, _, _ in mounts
    )
    return join(parse_mountstats(stats), parse_mountinfo(info, wanted))


class Agent:
    """An agent whose clock and readings the test gives."""

    def __init__(self, retention_s: float = 3600.0, most_mounts: int | None = None, zero_answers: int = 1) -> None:
        self.now = 0.0
        self.next = look()
        self.wanted = EVERY_MOUNT
        accounts = Accounts(retention_s=retention_s, most_mounts=most_mounts)
        self.ticker = Ticker(lambda: self.next, 1.0, lambda: self.now, accounts=accounts)
        self.collector = NfsCollector(self.ticker, zero_answers=zero_answers)

    def tick(self, *mounts: tuple[int, int, int], seconds: float = 1.0) -> None:
        self.now += seconds
        self.next = look(*mounts, wanted=self.wanted)
        self.ticker.tick()
        assert self.ticker.loop.heartbeat.success

    def removes(self) -> dict[str, float]:
        """REMOVEs by export, as a server that asks now is told."""
        return by_export(collected(self.collector))


def by_export(families: Iterable[Metric]) -> dict[str, float]:
    return {
        sample.labels["export"]: sample.value
        for family in families
        if family.name == "fss_client_operations"
        for sample in family.samples
        if sample.labels["operation"] == "REMOVE"
    }


def test_a_new_mount_shows_zeros_in_the_first_answer_and_its_counts_in_the_second() -> None:
    agent = Agent()
    agent.tick()
    agent.tick((1, 0, 500))
    agent.tick((1, 1, 700))

    assert agent.removes() == {"/1": 0}
    assert agent.removes() == {"/1": 700}


def test_a_mount_that_is_older_than_the_agent_shows_its_counts_at_once() -> None:
    agent = Agent()
    agent.tick((1, 1000, 500))
    agent.tick((1, 1001, 700))

    assert agent.removes() == {"/1": 200}


def test_hours_of_growth_before_the_first_server_asks_are_no_peak() -> None:
    agent = Agent()
    agent.tick()
    agent.tick((1, 0, 500))
    agent.tick((1, 3600, 90_000), seconds=3600.0)

    assert agent.removes() == {"/1": 90_000}


def test_a_mount_that_was_born_while_its_server_was_down_shows_zeros() -> None:
    agent = Agent()
    agent.tick((1, 1000, 5))
    agent.removes()
    agent.tick((1, 1001, 5), (2, 0, 500))
    agent.tick((1, 1601, 5), (2, 600, 9000), seconds=600.0)

    assert agent.removes() == {"/1": 0, "/2": 0}
    assert agent.removes() == {"/1": 0, "/2": 9000}


def test_the_zeros_of_a_new_mount_leave_the_other_mounts_alone() -> None:
    agent = Agent()
    agent.tick((1, 1000, 5))
    agent.removes()
    agent.tick((1, 1001, 9), (2, 0, 500))

    assert agent.removes() == {"/1": 4, "/2": 0}
    assert agent.removes() == {"/1": 4, "/2": 500}


def test_a_mount_that_was_dropped_and_is_back_before_the_next_answer_goes_on_counting() -> None:
    agent = Agent(retention_s=5.0)
    agent.tick()
    agent.tick((1, 0, 500))
    assert [agent.removes(), agent.removes()] == [{"/1": 0}, {"/1": 500}]
    agent.tick(seconds=10.0)
    agent.tick((1, 0, 7))

    assert [agent.removes(), agent.removes()] == [{"/1": 0}, {"/1": 7}]


def test_an_address_that_servers_know_shows_no_zeros_for_the_durations_of_a_new_mount() -> None:
    agent = Agent(retention_s=60.0)
    agent.tick((1, 1000, 5))
    agent.removes()
    agent.tick(seconds=30.0)
    agent.tick((3, 0, 5))  # of the same address, just before the first mount is dropped
    agent.tick((3, 60, 5), seconds=60.0)
    collector = NfsCollector(agent.ticker)
    assert by_export(collected(collector)) == {"/3": 0}
    assert (collector.answer.addresses, collector.answer.at_zero) == ({"10.0.0.4"}, set())


def test_every_family_of_a_new_mount_is_there_at_zero_before_its_counts() -> None:
    agent = Agent()
    agent.tick()
    agent.tick((1, 0, 500))
    first, second = (
        {
            (sample.name, *sample.labels.values()): sample.value
            for family in families
            if family.type == "counter"
            for sample in family.samples
        }
        for families in (collected(agent.collector), collected(agent.collector))
    )

    of_mount = {series: value for series, value in first.items() if "/1" in series}
    assert of_mount
    assert set(of_mount.values()) == {0}
    assert second.keys() == first.keys()


def test_two_servers_see_a_zero_each_where_the_agent_knows_of_them() -> None:
    agent = Agent(zero_answers=2)
    agent.tick()
    agent.tick((1, 0, 500))

    assert [agent.removes()["/1"] for _ in range(3)] == [0, 0, 500]


def test_a_person_who_looks_at_the_page_takes_no_zero_from_the_server() -> None:
    agent = Agent()
    agent.tick()
    agent.tick((1, 0, 500))

    assert by_export(collected(agent.collector.for_readers())) == {"/1": 500}
    assert agent.removes() == {"/1": 0}


@pytest.mark.parametrize(("seconds", "kept"), [(3600, {"/1": 4, "/2": 0}), (3601, {"/2": 0})])
def test_the_series_of_an_unmounted_export_vanish_after_the_retention(seconds: float, kept: dict[str, float]) -> None:
    agent = Agent()
    agent.tick((1, 1000, 5), (2, 1000, 5))
    agent.removes()
    agent.tick((1, 1001, 9), (2, 1001, 5))
    agent.tick((2, 1001 + int(seconds), 5), seconds=seconds)

    assert agent.removes() == kept


def test_what_describes_a_mount_vanishes_with_it() -> None:
    agent = Agent()
    agent.tick((1, 1000, 5), (2, 1000, 5))
    agent.tick((1, 1001, 9), (2, 1001, 9))
    agent.tick((2, 1002, 9))

    told = {family.name: [dict(sample.labels) for sample in family.samples] for family in collected(agent.collector)}
    assert [labels["export"] for labels in told["fss_client_mount"]] == ["/2"]


@pytest.mark.parametrize(("seconds", "kept"), [(59.0, [40.0]), (60.0, [])])
def test_the_peak_of_a_job_that_unmounts_is_kept_for_its_minute(seconds: float, kept: list[float]) -> None:
    agent = Agent()
    agent.tick((1, 1000, 5))
    agent.tick((1, 1001, 9))
    agent.tick(seconds=seconds)

    told = {family.name: [sample.value for sample in family.samples] for family in collected(agent.collector)}
    assert told["fss_client_peak_estimated_iops"] == kept


def test_a_host_with_churn_answers_little_more_than_its_live_mounts() -> None:
    """One mount begins and one ends each minute, with three alive. The default keeps a dead mount for two minutes."""
    agent = Agent(retention_s=RETENTION_SECONDS)
    for minute in range(30):
        agent.removes()
        agent.tick(
            *((number, 60 * (minute - number), 5) for number in range(max(0, minute - 2), minute + 1)), seconds=60.0
        )
        shown = set(by_export(collected(agent.collector)))
        alive = {f"/{number}" for number in range(max(0, minute - 2), minute + 1)}
        assert alive <= shown, "no live mount is lost"
        assert len(shown - alive) <= RETENTION_SECONDS / 60.0


def test_a_mount_that_comes_back_within_the_retention_goes_on_and_later_begins_at_zero() -> None:
    agent = Agent()
    agent.tick()
    agent.tick((1, 0, 5))
    agent.tick()
    agent.removes()
    agent.tick((1, 0, 3))
    assert agent.removes() == {"/1": 8}

    agent.tick()
    agent.tick(seconds=3601)
    assert agent.removes() == {}
    agent.tick((1, 0, 3))
    assert [agent.removes() for _ in range(2)] == [{"/1": 0}, {"/1": 3}]


def test_unmounted_exports_that_are_too_many_vanish_early_and_mounted_ones_never() -> None:
    agent = Agent(most_mounts=3)
    agent.tick((0, 1000, 0))
    for number in range(1, 50):
        agent.tick((0, 1000 + number, 0), (number, 0, 1))

    assert agent.removes().keys() == {"/0", "/46", "/47", "/48", "/49"}


def test_superblocks_beyond_the_most_are_left_out_and_counted() -> None:
    reading = look((1, 5, 0), (2, 5, 0), (3, 5, 0), wanted=MountFilter(most=2))

    assert [superblock.key.export for superblock in reading.superblocks] == ["/1", "/2"]
    assert (reading.left_out, reading.skipped) == (1, ())


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        (None, None, ["/1", "/2", "/3"]),
        ("/mnt/1", None, ["/1"]),
        ("/mnt/.*", "/2|/3", ["/1"]),
        (None, "10[.]0[.]0[.]4", ["/2"]),
        (None, "10.0.0.3:/2", ["/1", "/3"]),
        ("mnt", None, []),
        (None, "/mnt", ["/1", "/2", "/3"]),
        ("", "", ["/1", "/2", "/3"]),  # a variable of a unit file that is not set
    ],
)
def test_mounts_are_filtered_by_expressions_that_fit_a_whole_name(
    include: str | None, exclude: str | None, left: list[str]
) -> None:
    reading = look((1, 5, 0), (2, 5, 0), (3, 5, 0), wanted=MountFilter(include, exclude))

    assert [superblock.key.export for superblock in reading.superblocks] == left
    assert reading.filtered == 3 - len(left)
    assert reading.skipped == ()


def test_a_filter_that_leaves_out_every_mount_leaves_an_answer_that_counts_the_mounts() -> None:
    agent = Agent()
    agent.wanted = MountFilter(exclude=".*")
    agent.tick((1, 1000, 5), (2, 1000, 5))
    told = {family.name: family.samples for family in collected(agent.collector)}

    assert [sample.value for sample in told["fss_nfs_mounts_filtered"]] == [2]
    assert not any("address" in sample.labels for samples in told.values() for sample in samples)


def test_mounts_that_come_and_go_behind_a_filter_count_only_where_the_filter_wants_them() -> None:
    agent = Agent(zero_answers=0)
    agent.wanted = MountFilter(include="/mnt/[12]")
    agent.tick((1, 1000, 5), (3, 1000, 5))
    agent.tick((2, 0, 40), (3, 1001, 50))
    agent.tick((1, 0, 7), (2, 1, 41))

    assert agent.removes() == {"/1": 7, "/2": 41}


LONG_NAME = f"/{'a' * 4000}/b"
SHORT_S = 1.0


@pytest.mark.parametrize(
    "expression", ["(", "a)|(b", r"(a)\1", "(?=a)b", "a{99999999999}", "a{1000}{1000}{1000}", 2000 * "("]
)
def test_an_expression_that_is_no_expression_or_needs_too_much_memory_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="not a regular expression"):
        MountFilter(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "(a+)+",
        "(/[^/]*)*",
        "(a|aa)+",
        "(a?){100}",
        r"(\d{1,3}\.){3}\d{1,3}",
        "/mnt/(data|home)(/.*)?",
        "(foo|bar)*",
        "[^/]*(/a)*",
        ".*/pvc-[0-9a-f-]{36}/.*",
        "|".join(f"/export/{number}" for number in range(1000)),
        "a" * 10_000,
        "(a|" * 50 + "b" + ")" * 50,
        ".*a.*a.*a.*a.*c",
    ],
)
def test_every_expression_is_quick_on_a_long_name(expression: str) -> None:
    began = time.process_time()
    wanted = MountFilter(expression, expression)
    for _ in range(100):
        parse_mountinfo(mountinfo(device=f"10.0.0.3:{LONG_NAME}", mount_point=LONG_NAME), wanted)

    assert time.process_time() - began < SHORT_S


def test_without_names_of_operations_there_are_classes_of_a_mount_and_counters_of_its_address() -> None:
    agent = Agent()
    agent.tick((1, 1000, 5))
    agent.tick((1, 1001, 9))
    collector = NfsCollector(agent.ticker, by_operation=False, zero_answers=0)
    told = {family.name: family.samples for family in collected(collector)}

    requests = {sample.labels["class"]: sample.value for sample in told["fss_client_requests"]}
    assert requests == {"read": 4, "write": 0, "metadata_read": 0, "metadata_write": 4}
    assert "fss_client_operations" not in told
    labels = [sample.labels for samples in told.values() for sample in samples]
    assert sum("export" in label for label in labels) == 42
    assert sum("address" in label for label in labels) == 42 + 10


def at_address(agent: Agent, name: str) -> dict[str, float]:
    """A counter by address, as a server is told that asks now."""
    return {
        sample.labels["address"]: sample.value
        for family in collected(agent.collector)
        if family.name == f"fss_client_address_{name}"
        for sample in family.samples
    }


def test_an_address_counts_the_requests_and_the_cost_of_all_its_mounts() -> None:
    agent = Agent(zero_answers=0)
    agent.tick((1, 1000, 5), (3, 1000, 5))
    agent.tick((1, 1001, 9), (3, 1001, 6))

    assert at_address(agent, "requests") == {"10.0.0.4": 10}
    assert at_address(agent, "estimated_io_operations") == {"10.0.0.4": 5 * 8 + 5 * 2}


def test_a_new_address_shows_zeros_in_the_first_answer() -> None:
    agent = Agent()
    agent.tick()
    agent.tick((1, 0, 500))

    assert at_address(agent, "requests") == {"10.0.0.4": 0}
    assert at_address(agent, "requests") == {"10.0.0.4": 1000}


def test_an_address_never_counts_down_and_vanishes_with_its_last_mount() -> None:
    agent = Agent(retention_s=60, zero_answers=0)
    agent.tick((1, 1000, 5), (3, 1000, 5))
    agent.tick((1, 1001, 9), (3, 1001, 6))
    agent.tick((3, 1101, 6), seconds=100)
    agent.tick((3, 1102, 6))

    assert at_address(agent, "requests") == {"10.0.0.4": 10}
    agent.tick(seconds=100)
    agent.tick()
    assert at_address(agent, "requests") == {}
