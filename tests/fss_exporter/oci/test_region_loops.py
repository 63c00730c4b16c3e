"""The rounds of the loops over all regions: threads, credentials, and errors that cost one round. In memory."""

import logging
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from tests.fss_exporter.oci.polled_region import PolledRegion

from fss_exporter.background import Worker, each_at_once
from fss_exporter.errors import FssError, UsageError
from fss_exporter.oci.polling.regions import SignedRegions

STAGES = (
    "ListAvailabilityDomains",
    "ListCompartments",
    "ListMountTargets",
    "ListExports",
    "GetPrivateIp",
    "ListMetrics",
    "SummarizeMetricsData",
)


@pytest.mark.parametrize("stage", STAGES)
def test_an_unexpected_exception_costs_one_round_is_counted_and_the_loop_goes_on(
    stage: str, caplog: pytest.LogCaptureFixture
) -> None:
    poll = PolledRegion()
    poll.cloud.names = ("MountTargetReadThroughput",)

    def explode(operation: str) -> None:
        if operation == stage:
            raise ZeroDivisionError(stage)

    loops = {"oci_inventory": poll.inventories.run_round, "oci": poll.polls.run_round}
    workers = [Worker(name, run, interval=lambda: 60.0) for name, run in loops.items()]
    poll.cloud.refuse = explode
    for worker in workers:
        worker.run_once()
    broken = next(worker for worker in workers if worker.heartbeat.errors)
    assert (broken.heartbeat.success, broken.heartbeat.last_success_timestamp) == (False, None)
    assert caplog.text.count("ZeroDivisionError") >= 1, "with its traceback"
    poll.cloud.refuse = lambda _: None
    poll.now += 1000.0
    for worker in workers:
        worker.run_once()
    assert [worker.heartbeat.success for worker in workers] == [True, True]
    assert poll.counted().keys() == {"a", "b"}


def test_regions_do_not_wait_for_each_other() -> None:
    """A region that answers nothing, and one that is polled meanwhile."""
    done, leave = threading.Event(), threading.Event()

    def work(name: str) -> None:
        if name == "slow":
            assert leave.wait(120)
        else:
            done.set()

    thread = threading.Thread(target=each_at_once, args=(["slow", "fast"], work), daemon=True)
    thread.start()
    assert done.wait(120)
    assert thread.is_alive()
    leave.set()
    thread.join(120)
    assert not thread.is_alive()


def test_a_system_without_a_further_thread_polls_one_region_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    polled: list[str] = []
    each_at_once(["one", "other"], polled.append)

    assert polled == ["one", "other"]


def test_credentials_that_fail_again_after_they_worked_are_a_new_line(caplog: pytest.LogCaptureFixture) -> None:
    broken = [True]

    def read() -> Any:
        if broken[0]:
            raise UsageError("oci.config_file: no such file")
        return SimpleNamespace(are_outdated=True)

    regions = SignedRegions(read, lambda _: [], lambda _: None)
    for is_broken in (True, True, False, True, True):
        broken[0] = is_broken
        with suppress(UsageError):
            regions.all()
    assert caplog.text.count("cannot use the OCI credentials") == 2


def test_a_region_without_an_inventory_says_once_that_no_poll_begins(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    poll = PolledRegion()
    for _ in range(3):
        with suppress(FssError):
            poll.polls.run_round()
    assert caplog.text.count("no poll yet") == 1
