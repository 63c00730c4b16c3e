"""What a killed program leaves in the kernel is removed by the next start, whatever its flags are, and by a command."""

import errno
from pathlib import Path

import pytest
from tests.fss_kernel_counting.kernel import BY_PROCESS, ROOT, Kernel
from tests.fss_kernel_counting.processes.busy_host import BusyHost
from tests.prompt import ask

from fss_exporter.cli.counting_plug import remove_remains
from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.errors import UsageError
from fss_kernel_counting.remains import Remains, instances, remove
from fss_kernel_counting.tracefs import INSTANCES, OF_AGENT, OF_COMMAND, Sources, Unavailable, find


def sources(kernel: Kernel) -> Sources:
    return Sources(tracefs=(ROOT,), files=kernel)


@pytest.fixture
def killed(tmp_path: Path) -> Kernel:
    """The kernel after an agent and an iostat with a join were killed."""
    kernel = Kernel(BY_PROCESS)
    for names in (OF_AGENT, OF_COMMAND):
        BusyHost(tmp_path / names.looks, writers=True, names=names, kernel=kernel).look()
    kernel.handles.clear()
    return kernel


def test_all_instances_and_events_of_killed_programs_are_removed(killed: Kernel) -> None:
    left = set(instances((ROOT,), killed))

    done = remove(sources(killed))

    assert set(done.removed) == left
    assert len(left) == 6
    assert killed.instances == {}
    assert not [event for event in killed.events if event.startswith("synthetic/")]


def test_what_a_running_program_uses_stays_and_goes_on_counting(tmp_path: Path) -> None:
    kernel = Kernel(BY_PROCESS)
    running = BusyHost(tmp_path, writers=True, kernel=kernel)
    running.look()
    before = {name: dict(events) for name, events in kernel.instances.items()}

    done = remove(sources(kernel))

    assert done == Remains((), (ROOT / "instances" / OF_AGENT.looks,), ())
    assert kernel.instances == before


def test_what_cannot_be_removed_is_named_with_the_reason(killed: Kernel) -> None:
    killed.refuse(OF_AGENT.looks, errno.EROFS)

    done = remove(sources(killed))

    assert done.kept == (f"{ROOT}/instances/{OF_AGENT.looks}: Read-only file system",)
    assert OF_AGENT.writers in killed.instances
    assert OF_COMMAND.writers not in killed.instances


def test_a_host_without_tracefs_has_no_remains() -> None:
    assert remove(Sources(tracefs=(Path("/nowhere"),))) == Remains((), (), ())


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A folder with an empty directory for each instance, which stands for tracefs."""
    for name in INSTANCES:
        (tmp_path / "tracing" / "instances" / name).mkdir(parents=True)
    return tmp_path / "tracing"


def test_an_agent_without_exact_mode_removes_what_one_with_it_has_left(
    left: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    (tmp_path / "proc" / "1").mkdir(parents=True)
    agent = NfsAgent(NfsFlags(procfs=tmp_path / "proc", tracefs=left, metadata_url=""))

    agent.start()
    agent.stop()

    assert list((left / "instances").iterdir()) == []
    assert "which a killed program has left" in caplog.text


def test_an_agent_that_may_not_look_into_tracefs_starts_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tracefs has mode 0700. Root may look everywhere, so the refusal is the one the kernel gives an ordinary user."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    remove_remains((tmp_path,))


def test_an_agent_that_ends_names_the_instances_that_it_leaves(
    left: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "proc" / "1").mkdir(parents=True)
    (left / "instances" / INSTANCES[0] / "file").touch()  # so that no rmdir works
    agent = NfsAgent(NfsFlags(procfs=tmp_path / "proc", tracefs=left, exact="auto", metadata_url=""))

    agent.start()
    agent.stop()

    assert f"{left}/instances/{INSTANCES[0]} is left, so the kernel goes on counting" in caplog.text


def test_an_agent_that_could_not_count_says_nothing_of_the_instances_of_another_one(
    left: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "proc" / "1").mkdir(parents=True)
    (left / "instances" / INSTANCES[0] / "file").touch()  # so that no rmdir works
    agent = NfsAgent(NfsFlags(procfs=tmp_path / "proc", tracefs=left, exact="on", metadata_url=""))

    with pytest.raises(UsageError):
        agent.start()
    agent.stop()

    assert "is left" not in caplog.text


def test_the_command_removes_them_and_says_what_it_removed(left: Path) -> None:
    done = ask("clean", f"--path.tracefs={left}")

    assert done.code == 0
    assert sorted(done.out.splitlines()) == sorted(f"removed {left}/instances/{name}" for name in INSTANCES)
    assert ask("clean", f"--path.tracefs={left}").out == ""


def test_lockdown_is_named_before_the_kernel_answers_that_an_argument_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "kernel" / "security").mkdir(parents=True)
    (tmp_path / "kernel" / "security" / "lockdown").write_text("none integrity [confidentiality]\n")
    (tmp_path / "events").mkdir()

    with pytest.raises(Unavailable, match="lockdown is in mode confidentiality"):
        find(Sources(tracefs=(tmp_path,), sysfs=tmp_path))
