"""What exact mode needs of a kernel, what it makes of one that lacks it, and what it leaves behind."""

import errno
import os
from pathlib import Path

import pytest
from tests.fss_kernel_counting.host import EVENTS, KIB, Host, Mount, assert_true_to_the_unit, exact, ready, work
from tests.fss_kernel_counting.kernel import BEFORE_5_6, ROOT, Kernel

from fss_exporter.errors import UsageError
from fss_exporter.model.operations import READ
from fss_kernel_counting.sizes.size_reader import ExactReader
from fss_kernel_counting.tracefs import OF_SIZES, Sources


def _sources(kernel: Kernel) -> Sources:
    return Sources(tracefs=(ROOT,), sysfs=Path("/nowhere"), files=kernel)


def test_without_buckets_the_ladder_counts() -> None:
    host = ready(Host(kernel=Kernel(buckets=False)))
    work(host)
    host.call(40, READ, 0)
    host.tick()

    assert_true_to_the_unit(host)
    assert len(host.kernel.triggers(EVENTS[READ])) == 9
    assert host.totals.sizes == {}  # it tells no distribution


def test_before_kernel_5_6_requests_are_counted_instead_of_answers() -> None:
    host = ready(Host(kernel=Kernel(BEFORE_5_6, buckets=False)))
    work(host)
    host.tick()

    assert_true_to_the_unit(host)


def test_before_the_first_nfs_mount_it_waits_and_then_begins_by_itself() -> None:
    host = Host(Mount(40, visible=False))
    events = dict(host.kernel.events)
    host.kernel.unload_nfs()
    host.reader.open()
    host.tick()
    assert host.kernel.instances == {}

    host.kernel.events = events
    host.mounts[40].visible = True
    ready(host)
    work(host)
    host.tick()
    assert_true_to_the_unit(host)


def test_an_instance_a_dead_agent_left_behind_is_removed() -> None:
    kernel = Kernel()
    kernel.mkdir(ROOT / "instances" / OF_SIZES)
    kernel.append(ROOT / "instances" / OF_SIZES / "events" / EVENTS[READ] / "trigger", "hist:keys=dev:size=128")
    host = ready(Host(kernel=kernel))

    assert "dev" not in [",".join(trigger.keys) for trigger in host.kernel.triggers(EVENTS[READ])]


def test_a_living_agents_instance_is_left_alone() -> None:
    first = ready(Host())
    second = ExactReader(lambda: pytest.fail("not read"), _sources(first.kernel), required=True)

    with pytest.raises(UsageError, match="another fss-exporter counts on this host already"):
        second.open()
    work(first)
    first.tick()
    assert_true_to_the_unit(first)


@pytest.mark.parametrize("step", ["mkdir", "append"])
def test_an_agent_that_starts_at_the_same_moment_is_another_agent(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one makes the instance, or sets the trigger, between two steps of this one."""
    kernel = Kernel()

    def taken(path: Path, *_: str) -> None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))

    monkeypatch.setattr(kernel, step, taken)
    second = ExactReader(lambda: pytest.fail("not read"), _sources(kernel), required=True)

    with pytest.raises(UsageError, match="another fss-exporter counts on this host already"):
        second.open()


def test_closing_leaves_nothing_behind_and_sets_nothing_up_again() -> None:
    host = ready(Host())
    host.reader.close()
    host.tick()

    assert host.kernel.instances == {}
    assert host.kernel.handles == {}


def test_closing_while_it_is_being_set_up_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    mkdir = host.kernel.mkdir

    def closed_meanwhile(path: Path) -> None:
        mkdir(path)
        host.reader.close()

    monkeypatch.setattr(host.kernel, "mkdir", closed_meanwhile)
    host.tick()

    assert host.kernel.instances == {}
    assert host.kernel.handles == {}


def test_the_trace_buffer_is_shrunk_and_off() -> None:
    host = ready(Host())

    assert host.kernel.settings == {"buffer_size_kb": "4", "tracing_on": "0"}


@pytest.mark.parametrize(
    ("kernel", "name", "number", "reason"),
    [
        (Kernel(hist=False), "", 0, "CONFIG_HIST_TRIGGERS"),
        (Kernel(), "events", errno.EACCES, "run the exporter as uid 0"),
        (Kernel(), OF_SIZES, errno.EROFS, "ReadWritePaths=-/fake/tracing/instances"),
        (Kernel(), "trigger", errno.EPERM, "lockdown"),
        (Kernel(), "hist", errno.EPERM, "lockdown"),
        (Kernel(), "buffer_size_kb", errno.EPERM, "lockdown"),
        (Kernel({"nfs/nfs_readpage_done": {"dev": 8}, "sched/sched_switch": {}}), "", 0, "no event has the sizes"),
        (Kernel(buckets=False), "trigger", errno.EINVAL, "the kernel refuses"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_why_it_cannot_be_set_up_is_said_and_nothing_is_left_behind(
    kernel: Kernel, name: str, number: int, reason: str
) -> None:
    if name:
        kernel.refuse(name, number)
    reader = ExactReader(lambda: pytest.fail("not read"), _sources(kernel), required=True)

    with pytest.raises(UsageError, match=reason):
        reader.open()
    assert kernel.instances == {}
    assert kernel.handles == {}


def test_where_tracefs_is_not_mounted_the_command_is_said() -> None:
    places = (Path("/elsewhere"), Path("/nowhere"))
    sources = Sources(tracefs=places, sysfs=Path("/nowhere"), files=Kernel())
    reader = ExactReader(lambda: pytest.fail("not read"), sources, required=True)

    with pytest.raises(UsageError, match="no tracefs at /elsewhere or /nowhere: mount -t tracefs tracefs /elsewhere"):
        reader.open()


def test_why_it_fell_back_is_said_once_and_it_is_tried_again_later(caplog: pytest.LogCaptureFixture) -> None:
    host = Host()
    host.kernel.refuse("trigger", errno.EPERM)
    for _ in range(200):
        host.tick()
    assert len(caplog.records) == 1

    host.kernel.refusals.clear()
    host.now += 60
    ready(host)
    work(host)
    host.truth = host.truth.copy()
    host.tick()
    assert_true_to_the_unit(host)


def test_estimates_go_on_where_it_cannot_be_set_up() -> None:
    host = Host(kernel=Kernel(hist=False))
    host.tick()
    for _ in range(10):
        host.call(40, READ, 4 * KIB)
    reading = host.tick()

    assert exact(reading) == frozenset()
    assert host.cost(READ)[1] == 20
