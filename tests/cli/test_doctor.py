"""`fss-exporter doctor`: a client made of files and loopback, an account made of a loopback region."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.prompt import RECORDINGS, Answer, ask, ask_process
from tests.doctor.test_probes import metadata

from fss_exporter.cli import doctor as command, doctor_account
from fss_exporter.demo.region import Region
from fss_exporter.doctor import network
from fss_exporter.doctor.lag import EVERY_SECONDS

Flags = tuple[str, ...]


class Clock:
    """Stands in for the module `time`: only sleeping turns it. It begins at a whole minute."""

    def __init__(self) -> None:
        self.now = time.time() // 60 * 60

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def interrupt(_: float) -> None:
    raise KeyboardInterrupt


MIXED = RECORDINGS / "k_mixed"
ALONE = ("--no-account", "--metadata-url", "")


@pytest.fixture(autouse=True)
def nobody_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine, loopback is near."""
    monkeypatch.setattr(network, "FAR_SECONDS", 60.0)


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
    return ("--path.procfs", str(procfs), "--path.fstab", str(tmp_path / "fstab"))


def findings(answer: Answer) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in answer.document["findings"]:
        found.setdefault(one["check"], []).append(one)
    return found


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--metadata-url", "169.254.169.254"), "give a URL like"),
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


def test_a_client_as_it_should_be_is_fine(tmp_path: Path, server: int) -> None:
    answer = ask("doctor", *ALONE, *host(tmp_path, server), "--output", "json")
    assert answer.code == 0, answer.out
    found = findings(answer)
    assert found["round-trip"][0]["subject"] == f"127.0.0.1 port {server}"
    assert found["bandwidth-delay"][0]["severity"] == "ok"
    assert found["nconnect"][0]["severity"] == "advice"


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
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ))
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    assert f"directory: {directory}: 0 entries" in done.stdout


def test_a_large_directory_is_counted_when_asked(tmp_path: Path, server: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LARGE_DIRECTORY", 3)
    monkeypatch.setattr(network, "LARGE_DIRECTORY", 3)
    directory = tmp_path / "large"
    for name in "abcdef":
        (directory / name).mkdir(parents=True)
    answer = ask("doctor", *ALONE, *host(tmp_path, server), directory, "--deadline", "10s")
    assert answer.code == 1
    assert f"directory: {directory}: more than 3 entries" in answer.out


def test_fstab_is_looked_at(tmp_path: Path, server: int) -> None:
    flags = host(tmp_path, server)
    (tmp_path / "fstab").write_text("10.0.0.1:/b /b nfs hard,rsize=65536 0 0\n")
    answer = ask("doctor", *ALONE, *flags)
    assert answer.code == 1
    assert "/etc/fstab line 1 sets rsize=65536 by hand" in answer.out


def test_a_mount_cannot_steer_the_terminal(tmp_path: Path, server: int) -> None:
    answer = ask("doctor", *ALONE, *host(tmp_path, server, ("/export/a", r"/\033[2J[red]")))
    assert "\x1b" not in answer.out
    assert r"/\x1b[2J[red]" in answer.out


def test_an_unreadable_client_is_a_problem(tmp_path: Path) -> None:
    answer = ask("doctor", *ALONE, "--path.procfs", tmp_path)
    assert answer.code == 2
    assert "PROBLEM mounts: cannot read" in answer.out


def test_without_credentials_the_account_is_left_out_and_that_is_said(tmp_path: Path, server: int) -> None:
    answer = ask("doctor", "--metadata-url", "", *host(tmp_path, server))
    assert answer.code == 0
    assert "the account is not checked: no credentials" in answer.err
    assert "Account" not in answer.out


def test_an_agent_without_the_sdk_checks_the_client(tmp_path: Path, server: int) -> None:
    blocked = (
        "import sys; sys.modules['oci'] = None; from fss_exporter.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    flags = (*host(tmp_path, server), "--metadata-url", "", "--no-connect")
    for more, code, words in (((), 0, "Client"), (("--account",), 2, "is not installed, so OCI cannot be asked")):
        line = [sys.executable, "-c", blocked, "doctor", *flags, *more]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ))
        assert done.returncode == code, done.stdout + done.stderr
        assert words in done.stdout


def test_an_account_that_answers_is_fine(account: Flags) -> None:
    answer = ask("doctor", "--no-client", *account, "--output", "json")
    assert answer.code == 0, answer.out
    found = findings(answer)
    operations = found["api"][0]["message"]
    for name in ("ListMountTargets", "ListExports", "GetPrivateIp", "GetSubnet", "ListMetrics", "SummarizeMetricsData"):
        assert name in operations
    assert found["clock"][0]["severity"] == "ok"
    assert found["inventory"][0]["message"] == "5 mount targets"
    assert found["regions"][0]["message"] == "subscribed to eu-frankfurt-1"
    assert "newest minutes ended" in found["ingestion-lag"][0]["message"]


def test_a_region_the_tenancy_is_not_subscribed_to_is_told_and_not_asked(region: Region, account: Flags) -> None:
    more = ("--oci.region", "us-phoenix-1", "--output", "json")
    answer = ask("doctor", "--no-client", *account, *more)
    assert answer.code == 2
    problem, advice = findings(answer)["regions"]
    assert (problem["severity"], problem["subject"]) == ("problem", "us-phoenix-1")
    assert advice["message"] == "not looked at, though subscribed to: eu-frankfurt-1"
    assert dict(region.calls) == {"ListRegionSubscriptions": 1}


def test_waiting_measures_how_late_a_minute_comes(
    region: Region, account: Flags, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The region sends two minutes at once, up to two minutes after the second one's end; nobody waits for real."""
    clock = Clock()
    monkeypatch.setattr(doctor_account, "time", clock)
    with Region(account=region.account, now=clock.time, calls_per_second={}) as late:
        clock.sleep(600)
        late.add_fault("late,seconds=180")
        clock.sleep(600)
        answer = ask("doctor", "--no-client", *account, "--oci.endpoint", late.url, "--wait", "6m", "--output", "json")
    (only,) = findings(answer)["ingestion-lag"]
    least, most = re.findall(r"(\d+) s \(", only["message"])
    assert 60 <= int(least) < int(most) <= 180 + EVERY_SECONDS
    assert only["severity"] == "ok"


def test_enough_of_waiting_shows_what_is_known(region: Region, account: Flags, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at the first pause; the account has been asked by then."""
    clock = Clock()
    monkeypatch.setattr(clock, "sleep", interrupt)
    monkeypatch.setattr(doctor_account, "time", clock)
    with Region(account=region.account, now=clock.time, calls_per_second={}) as running:
        answer = ask("doctor", "--no-client", *account, "--oci.endpoint", running.url, "--wait", "6m")
    assert answer.code == 0
    assert "ingestion-lag: eu-frankfurt-1: no new minute came of" in answer.out


def test_credentials_that_cannot_be_used_are_a_problem(tmp_path: Path) -> None:
    answer = ask("doctor", "--no-client", "--oci.config-file", tmp_path / "none")
    assert answer.code == 2
    assert "PROBLEM credentials: oci.config_file" in answer.out


@pytest.mark.parametrize(
    ("operation", "statement", "code"),
    [
        ("ListMountTargets", "inspect mount-targets", 2),
        ("ListExports", "read export-sets", 2),
        ("SummarizeMetricsData", "read metrics", 2),
        ("ListMetrics", "read metrics", 2),
        ("GetPrivateIp", "inspect private-ips", 1),
        ("ListRegionSubscriptions", "inspect tenancies", 0),
        ("ListReplications", "inspect replications", 1),
    ],
)
def test_a_missing_permission_is_told_with_its_statement(
    region: Region, account: Flags, operation: str, statement: str, code: int
) -> None:
    region.add_fault(f"deny:{operation}")
    answer = ask("doctor", "--no-client", *account, "--output", "json")
    assert answer.code == code
    (only,) = findings(answer)["permissions"]
    assert only["subject"] == f"eu-frankfurt-1 {operation}"
    assert f"Allow group <group> to {statement} in " in only["message"]


def test_services_that_are_polled_as_well_are_listed_as_well(region: Region, account: Flags, tmp_path: Path) -> None:
    path = tmp_path / "services.yml"
    path.write_text("oci: {services: [block-volume]}\n")
    region.add_fault("deny:ListBootVolumes")
    answer = ask("doctor", "--no-client", *account, "--config.file", path, "--output", "json")
    assert answer.code == 1
    assert "ListVolumes" in findings(answer)["api"][0]["message"]
    (only,) = findings(answer)["permissions"]
    assert "Allow group <group> to inspect volumes in " in only["message"]


def test_a_clock_that_is_off_is_told(region: Region, account: Flags) -> None:
    region.add_fault("clock-skew,seconds=900")
    answer = ask("doctor", "--no-client", *account)
    assert answer.code == 2
    assert "PROBLEM permissions: eu-frankfurt-1 ListAvailabilityDomains" in answer.out


def test_nobody_there_costs_one_call(keys: Path) -> None:
    flags = ("--oci.endpoint", "http://127.0.0.1:1", "--oci.config-file", str(keys))
    answer = ask("doctor", "--no-client", *flags, "--output", "json")
    assert answer.code == 2
    assert [one["subject"] for one in findings(answer)["api"]] == ["eu-frankfurt-1 ListRegionSubscriptions"]


def test_a_fault_of_one_metric_costs_only_itself(region: Region, account: Flags) -> None:
    region.add_fault("not-json:SummarizeMetricsData,match=FileSystemUsage")
    answer = ask("doctor", "--no-client", *account, "--output", "json")
    warnings = [one for one in findings(answer)["metrics"] if one["severity"] == "warning"]
    assert [one["subject"] for one in warnings] == ["eu-frankfurt-1 FileSystemUsage"]
    assert "26 metrics answered" in str(findings(answer)["metrics"])


def test_what_the_account_has_is_written_down_without_ocids(region: Region, account: Flags, tmp_path: Path) -> None:
    region.add_fault("name-case")
    path = tmp_path / "record.json"
    answer = ask("doctor", "--no-client", *account, "--record", path)
    assert answer.code == 0
    text = path.read_text()
    assert "ocid1." not in text
    for target in region.tenancy.mount_targets:
        assert target.name not in text
    (written,) = json.loads(text)["regions"]
    assert written["observed_throughput"] == {"0": 1, "1": 2, "20": 1, "absent": 1}
    assert written["metric_names_ignore_case"] in {True, False}
    assert written["adding_two_metrics"]
    metrics = {one["documented"]: one for one in written["metrics"]}
    assert metrics["MetadataIOPS"]["dimensions"]["operation"] == ["CREATE", "GETATTR", "REMOVE", "SETATTR"]
    assert metrics["MountTargetReadThroughput"]["newest_age_seconds"] is not None
    assert metrics["MountTargetReadThroughput"]["minutes"] > 5


@pytest.mark.parametrize("place", ["none/record.json", "."])
def test_a_record_that_cannot_be_written_is_refused_before_anybody_is_asked(
    region: Region, account: Flags, tmp_path: Path, place: str
) -> None:
    answer = ask("doctor", "--no-client", *account, "--record", tmp_path / place)
    assert answer.code == 2
    assert "cannot be written; give a file" in answer.err
    assert not region.calls


def test_a_client_in_another_availability_domain_is_told(account: Flags, tmp_path: Path, server: int) -> None:
    """The recorded client mounts mt-home, which is in AD-1; nothing is connected to."""
    flags = host(tmp_path, server, ("127.0.0.1", "10.80.1.10"))
    with metadata(200, b'{"availabilityDomain": "Uocm:EU-FRANKFURT-1-AD-2"}') as url:
        answer = ask("doctor", *flags, "--no-connect", "--metadata-url", url, *account, "--output", "json")
    (only,) = findings(answer)["availability-domain"]
    assert only["severity"] == "warning"
    assert only["subject"] == "10.80.1.10"


def test_it_runs_as_a_process_on_a_narrow_terminal(tmp_path: Path, server: int) -> None:
    flags = (*ALONE, *host(tmp_path, server), "--no-connect")
    answer = ask_process("doctor", *flags, COLUMNS="60", HOME=str(tmp_path))
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert all(len(line) <= 60 for line in answer.out.splitlines())
    assert "problems 0, warnings 0, advice 1, fine 1" in answer.out
