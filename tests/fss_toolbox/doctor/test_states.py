"""What `doctor` says of states: those of the exporter's page, and of a host without one."""

from collections.abc import Callable, Collection

import pytest
from tests.exposition_text import families_of
from tests.fss_exporter.nfs.records import mountinfo, mountstats
from tests.fss_exporter.nfs.test_address_states import busy, waiting_before

from fss_exporter.errors import SourceError
from fss_exporter.model.state import State
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.samples import Samples
from fss_toolbox.doctor.findings import Severity
from fss_toolbox.doctor.state_checks import addresses_judged, check_states, check_waits

SEVERITIES = {
    State.FINE: Severity.OK,
    State.NOT_KNOWN: Severity.WARNING,
    State.NEAR: Severity.WARNING,
    State.SLOW: Severity.PROBLEM,
    State.FAILING: Severity.PROBLEM,
    State.HANGING: Severity.PROBLEM,
}


def page(*lines: str) -> Samples:
    return Samples(families_of("".join(f"{line}\n" for line in lines)))


def target(ocid: str, name: str, region: str = "r") -> str:
    return f'tenancy="t",region="{region}",mount_target_id="{ocid}",mount_target="{name}"'


@pytest.mark.parametrize("state", State)
def test_each_state_has_its_word_and_only_fine_is_ok(state: State) -> None:
    (finding,) = check_states(page(f"fss_mount_target_state{{{target('a', 'mt-a')}}} {state:d}"))
    assert finding.severity is SEVERITIES[state]
    assert ("no trouble" if state is State.FINE else state.word) in finding.message
    assert "mt-a" in f"{finding.subject} {finding.message}"


def test_a_hung_address_is_a_problem_with_length_reason_and_runbook() -> None:
    of = 'network="r",address="10.0.0.2"'
    hung = f"fss_client_address_state{{{of}}} 5"
    age = f"fss_client_address_state_age_seconds{{{of}}} 57"
    why = (
        f"fss_client_address_state_evidence_ratio{{{of},"
        'state="hanging",subject="requests without a reply",detail=""} 11.4'
    )
    (finding,) = check_states(page(hung, age, why))
    assert (finding.severity, finding.subject) == (Severity.PROBLEM, "10.0.0.2")
    assert finding.message == "hanging: no reply for 57 s"
    assert finding.fix == "read docs/runbook.md#fssmounttargetdown"


def test_the_worst_comes_first_and_all_that_are_fine_are_one_line() -> None:
    states = [f"fss_mount_target_state{{{target(str(n), f'mt-{n}')}}} {n % 3 * 2}" for n in range(21)]
    findings = list(check_states(page(*states)))
    assert [finding.check for finding in findings] == ["state"] * 15
    assert {finding.message for finding in findings[:7]} == {"failing"}
    assert findings[-1].message == "7 no trouble seen by OCI: mt-0, mt-12, mt-15, mt-18, mt-3 and 2 more"


def test_an_address_is_fine_for_the_mounts_of_its_exporter_while_its_mount_target_fails_others() -> None:
    address = 'fss_client_address_state{network="r",address="10.80.3.30"} 0'
    failing = f"fss_mount_target_state{{{target('a', 'mt-media')}}} 4"
    assert [(of.subject, of.message) for of in check_states(page(address, failing))] == [
        ("mt-media", "failing"),
        ("", "1 fine for its own mounts: 10.80.3.30"),
    ]


def test_mount_targets_with_one_name_have_their_region() -> None:
    two = [f"fss_mount_target_state{{{target(f'ocid-{region}', 'mt', region)}}} 4" for region in ("fra", "iad")]
    assert [finding.subject for finding in check_states(page(*two))] == [
        "mt in fra (...id-fra)",
        "mt in iad (...id-iad)",
    ]


class Host:
    """A host whose clock runs only while doctor waits, with a record for each second."""

    def __init__(self, record: Callable[[int], str]) -> None:
        self.second = 1
        self._record = record

    def read(self) -> Reading:
        return join(parse_mountstats(self._record(self.second)), parse_mountinfo(mountinfo()))

    def wait(self, seconds: float) -> None:
        self.second += int(seconds)

    def findings(self, judged: Collection[str] = ()) -> list[tuple[Severity, str, str]]:
        found = check_waits(self.read, self.read(), judged, pause=self.wait, clock=lambda: float(self.second))
        return [(finding.severity, finding.subject, finding.message) for finding in found]


def more_and_more(second: int) -> str:
    """A program sends a request each second, and none is answered."""
    return mountstats({}, age=1000 + second, xprt=(f"tcp 800 1 1 0 3 {1 + second} 0 0 0 0 2 0 0",))


def test_without_an_exporter_a_mount_that_hangs_is_found_by_its_new_requests() -> None:
    ((severity, subject, message),) = Host(more_and_more).findings()
    assert (severity, subject) == (Severity.PROBLEM, "10.0.0.3")
    assert message.startswith("hanging: no reply for ")


def test_without_an_exporter_a_mount_that_hung_before_and_is_silent_is_never_ok() -> None:
    ((severity, subject, message),) = Host(waiting_before).findings()
    assert (severity, subject) == (Severity.WARNING, "10.0.0.3")
    assert message.startswith(
        "not known: requests may wait, because more were sent than answered, and no reply came for 5 s"
    )


@pytest.mark.parametrize("record", [busy, lambda _: mountstats({})], ids=["busy", "idle"])
def test_without_an_exporter_a_mount_that_is_served_is_said_not_to_wait_and_not_to_be_fine(
    record: Callable[[int], str],
) -> None:
    ((severity, _, message),) = Host(record).findings()
    assert severity is Severity.OK
    assert "replies arrive, or nothing was asked" in message
    assert "fine" not in message


def test_an_idle_host_costs_no_wait() -> None:
    host = Host(lambda _: mountstats({}))
    host.findings()
    assert host.second == 1


def test_counters_that_cannot_be_read_any_more_are_a_problem_and_no_verdict() -> None:
    def gone() -> Reading:
        raise SourceError("no mountstats")

    host = Host(waiting_before)
    (finding,) = check_waits(gone, host.read(), pause=host.wait, clock=lambda: float(host.second))
    assert (finding.check, finding.severity, finding.message) == ("mounts", Severity.PROBLEM, "no mountstats")


def test_only_an_address_that_the_agent_judges_is_not_looked_at_again() -> None:
    assert Host(more_and_more).findings({"10.0.0.3"}) == []
    ((_, subject, _),) = Host(more_and_more).findings({"10.0.0.4"})
    assert subject == "10.0.0.3"


@pytest.mark.parametrize(
    ("boot_hash", "judged"), [("0123456789ab", {"10.0.0.3"}), ("other", set()), ("", set())], ids=str
)
def test_only_the_agent_of_this_host_judges_its_addresses(boot_hash: str, judged: set[str]) -> None:
    served = page(
        f'fss_nfs_superblocks{{boot_hash="{boot_hash}"}} 1',
        'fss_client_address_state{network="r",address="10.0.0.3"} 0',
        f"fss_mount_target_state{{{target('a', 'mt-a')}}} 0",
    )
    assert addresses_judged(served, "0123456789ab") == judged
    assert addresses_judged(served, "") == set()
