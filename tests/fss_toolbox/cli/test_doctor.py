"""`fss-exporter doctor` on a client made of files and loopback."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fss_toolbox.cli.doctor_prompt import Flags, findings
from tests.local_server import Quiet, instance_metadata, serving
from tests.processes import PATIENCE_S
from tests.prompt import RECORDINGS, ask, ask_process

from fss_exporter.nfs.procfs import boot_hash_of
from fss_toolbox.doctor import state_checks

MIXED = RECORDINGS / "k_mixed"

# No exporter that happens to run on this machine is asked, and a busy machine has time.
PATIENT = ("--url", "", "--deadline", f"{PATIENCE_S:.0f}s")

ALONE = ("--no-account", "--metadata-url", "", *PATIENT)

pytestmark = pytest.mark.usefixtures("nobody_at_home", "near")


@pytest.fixture
def server() -> Iterator[int]:
    """A port that takes connections, as a mount target does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def host(tmp_path: Path, port: int, *changes: tuple[str, str]) -> Flags:
    """Flags for a client whose mount target is a port of this host."""
    procfs = tmp_path / "proc"
    for folder in ("1", "sys/kernel", "sys/sunrpc", "sys/net/ipv4"):
        (procfs / folder).mkdir(parents=True, exist_ok=True)
    stats, info = (MIXED / "after.txt").read_text(), (MIXED / "mountinfo.txt").read_text()
    for old, new in (("10.80.1.10", "127.0.0.1"), ("proto=tcp,timeo", f"proto=tcp,port={port},timeo"), *changes):
        stats, info = stats.replace(old, new), info.replace(old, new)
    (procfs / "1/mountstats").write_text(stats)
    (procfs / "1/mountinfo").write_text(info)
    (procfs / "sys/kernel/osrelease").write_text("6.1.0-18-amd64\n")
    (procfs / "sys/net/ipv4/tcp_rmem").write_text("4096 131072 2000000000000\n")
    (tmp_path / "fstab").touch()
    return ("--path.procfs", str(procfs), "--path.fstab", str(tmp_path / "fstab"))


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--metadata-url", "169.254.169.254"), "give a URL like"),
        (("--url", "localhost"), "give a URL like"),
        (("--url", "ftp://localhost"), "give a URL like"),
        (("--no-client",), "nothing was checked"),
        (("--no-client", "--no-account"), "nothing was checked"),
        (("--no-client", "--no-account", "--url", ""), "nothing was checked"),
        (("--record", "x", "--no-account"), "leave out --no-account"),
        (("--deadline", "soon"), "is not a length of time"),
        (("--shape", "huge"), "is not one of"),
        (("--oci.region", "r", "--config.file", "/nonexistent"), "'--config.file': File '/nonexistent' does not exist"),
    ],
)
def test_flags_that_make_no_sense_are_refused(flags: Flags, why: str) -> None:
    answer = ask("doctor", *flags)
    assert answer.code == 2
    assert why in " ".join(answer.err.split())


def test_without_the_client_an_exporter_that_is_named_is_checked() -> None:
    class Exporter(Quiet):
        def get(self) -> None:
            self.answer('fss_collector_success{collector="oci"} 0\n' if self.path == "/metrics" else "ok")

    with serving(Exporter) as address:
        url = f"http://{address}"
        answer = ask("doctor", "--no-client", "--no-account", "--url", url, "--output", "json")
    (only,) = answer.document["findings"]
    assert (only["about"], only["check"], only["subject"]) == ("exporter", "exporter", "oci")
    assert answer.code == 2


def test_a_client_as_it_should_be_is_fine(tmp_path: Path, server: int) -> None:
    answer = ask("doctor", *ALONE, *host(tmp_path, server), "--output", "json")
    assert answer.code == 0, answer.out
    by_check = findings(answer)
    assert by_check["round-trip"][0]["subject"] == f"127.0.0.1 port {server}"
    assert by_check["bandwidth-delay"][0]["severity"] == "ok"
    assert by_check["nconnect"][0]["severity"] == "advice"


def test_a_warning_is_exit_code_one_and_a_problem_two(tmp_path: Path, server: int) -> None:
    warning = ask("doctor", *ALONE, *host(tmp_path, server, ("rw,vers=3", "rw,sync,vers=3")), "--output", "json")
    assert (warning.code, warning.document["exit_code"]) == (1, 1)
    problem = ask("doctor", *ALONE, *host(tmp_path, server, ("hard,", "soft,")), "--output", "json")
    assert (problem.code, problem.document["exit_code"]) == (2, 2)
    assert findings(problem)["soft-mount"][0]["fix"] == "mount with hard"


def test_a_mount_target_that_does_not_listen_is_a_problem(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    answer = ask("doctor", *ALONE, *host(tmp_path, port))
    assert answer.code == 2
    assert (
        f"PROBLEM reachable: 127.0.0.1 port {port}: no TCP connection to port {port}: Connection refused" in answer.out
    )
    assert ask("doctor", *ALONE, *host(tmp_path, port), "--no-connect").code == 0


def test_a_read_that_hangs_is_a_problem_of_the_client(
    tmp_path: Path, server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fss_exporter.nfs.procfs.READING_SECONDS", 0.2)
    flags = host(tmp_path, server)
    mountstats = tmp_path / "proc/1/mountstats"
    mountstats.unlink()
    os.mkfifo(mountstats)  # to open it waits for a writer, for ever

    answer = ask("doctor", *ALONE, *flags)

    assert answer.code == 2
    assert f"the reading of {mountstats} has not ended after 0 s" in " ".join(answer.out.split())


def test_no_mount_point_is_touched(tmp_path: Path, server: int) -> None:
    """Every file system call of the process is looked at: none names the mount point or the directory."""
    directory = tmp_path / "counted"
    directory.mkdir()
    watched = (
        "import os, sys\n"
        "def watch(event, arguments):\n"
        "    if event in ('open', 'os.listdir', 'os.scandir', 'os.chdir') or event.startswith('os.'):\n"
        "        for one in arguments:\n"
        f"            assert str(one) not in ('/mnt/a', {str(directory)!r}), (event, one)\n"
        "sys.addaudithook(watch)\n"
        "real = os.stat\n"
        "def stat(path, *rest, **more):\n"
        f"    assert str(path) not in ('/mnt/a', {str(directory)!r}), path\n"
        "    return real(path, *rest, **more)\n"
        "os.stat = stat\n"
        "from fss_exporter.cli.main import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    line = [sys.executable, "-c", watched, "doctor", str(directory), *ALONE, *host(tmp_path, server)]
    # readline, where pytest imports it, leaves COLUMNS behind Python's back; os.environ has none.
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ))
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    assert f"directory: {directory}: 0 entries" in done.stdout


def test_fstab_is_looked_at(tmp_path: Path, server: int) -> None:
    flags = host(tmp_path, server)
    (tmp_path / "fstab").write_text("10.0.0.1:/b /b nfs hard,rsize=65536 0 0\n")
    answer = ask("doctor", *ALONE, *flags)
    assert answer.code == 2
    assert f"{tmp_path}/fstab line 1 sets rsize=65536 by hand" in answer.out
    assert f"10.0.0.1:/b on /b: {tmp_path}/fstab line 1 asks for this mount" in answer.out


def test_a_mount_cannot_steer_the_terminal(tmp_path: Path, server: int) -> None:
    answer = ask("doctor", *ALONE, *host(tmp_path, server, ("/export/a", r"/\033[2J[red]")))
    assert "\x1b" not in answer.out
    assert r"/\x1b[2J[red]" in answer.out


def test_without_credentials_the_account_is_left_out_and_that_is_said(tmp_path: Path, server: int) -> None:
    answer = ask("doctor", "--metadata-url", "", *host(tmp_path, server), *PATIENT)
    assert answer.code == 0
    assert "the account is not checked: no credentials" in answer.err
    assert "Account" not in answer.out


def test_an_agent_without_the_sdk_checks_the_client(tmp_path: Path, server: int) -> None:
    blocked = (
        "import sys; sys.modules['oci'] = None; from fss_exporter.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    flags = (*host(tmp_path, server), "--metadata-url", "", "--no-connect", *PATIENT)
    for more, code, words in (((), 0, "Client"), (("--account",), 2, "is not installed, so OCI cannot be asked")):
        line = [sys.executable, "-c", blocked, "doctor", *flags, *more]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ))
        assert done.returncode == code, done.stdout + done.stderr
        assert words in done.stdout


def test_a_client_in_another_availability_domain_is_reported(account_flags: Flags, tmp_path: Path, server: int) -> None:
    """The recorded client mounts mt-home, which is in AD-1; nothing is connected to."""
    flags = host(tmp_path, server, ("127.0.0.1", "10.80.1.10"))
    with instance_metadata(b'{"availabilityDomain": "Uocm:EU-FRANKFURT-1-AD-2"}') as url:
        answer = ask(
            "doctor", *flags, "--no-connect", "--metadata-url", url, *account_flags, *PATIENT, "--output", "json"
        )
    (only,) = findings(answer)["availability-domain"]
    assert only["severity"] == "warning"
    assert only["subject"] == "10.80.1.10"


def test_it_runs_as_a_process_on_a_narrow_terminal(tmp_path: Path, server: int) -> None:
    flags = (*ALONE, *host(tmp_path, server), "--no-connect")
    answer = ask_process("doctor", *flags, COLUMNS="60", HOME=str(tmp_path))
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert all(len(line) <= 60 for line in answer.out.splitlines())
    assert "problems 0, warnings 0, advice 1, fine 2" in answer.out


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('fss_mount_target_state{mount_target_id="a",mount_target="mt-a",region="r"} 0\n', ["127.0.0.1"]),
        ('fss_nfs_superblocks{boot_hash="%s"} 1\nfss_client_address_state{address="127.0.0.1"} 0\n', []),
    ],
    ids=["poller", "agent of this host"],
)
def test_requests_that_may_hang_are_found_whatever_page_is_asked_but_that_of_this_hosts_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, found: list[str]
) -> None:
    monkeypatch.setattr(state_checks, "LEAST_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(state_checks, "_TICK_SECONDS", 0.0)
    flags = host(tmp_path, 1, ("111486 111486", "111487 111486"))
    boot_id = tmp_path / "proc/sys/kernel/random/boot_id"
    boot_id.parent.mkdir()
    boot_id.write_text("this boot\n")
    text = page.replace("%s", boot_hash_of(tmp_path / "proc"))

    class Exporter(Quiet):
        def get(self) -> None:
            self.answer(text)

    with serving(Exporter) as address:
        url = ("--url", f"http://{address}")
        answer = ask("doctor", *flags, *ALONE, "--no-connect", *url, "--output", "json")
    states = [finding for finding in findings(answer)["state"] if finding["about"] == "client"]
    assert [finding["subject"] for finding in states] == found


@pytest.mark.parametrize("number", ["99999", "\N{SUPERSCRIPT TWO}", "9" * 5000])
def test_a_number_that_no_kernel_writes_ends_no_check(tmp_path: Path, number: str) -> None:
    options = f"proto=tcp,soft,nconnect={number},rsize={number},port={number},timeo={number},was"
    flags = host(tmp_path, 1, ("proto=tcp,port=1,timeo", options), ("10.80.1.10", "127.0.0.1"))
    (tmp_path / "proc/sys/kernel/osrelease").write_text(f"{number}.1")
    (tmp_path / "proc/sys/net/ipv4/tcp_rmem").write_text(f"4096 131072 {number}")
    answer = ask("doctor", *flags, *ALONE)
    assert answer.code == 2
    assert "soft-mount" in answer.out
