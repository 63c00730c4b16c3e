"""Exact mode on this client: possible or not, and why."""

from pathlib import Path

import pytest
from tests.fss_toolbox.doctor.clients import client

from fss_toolbox.doctor.client_facts import Exactness
from fss_toolbox.doctor.findings import Finding, Severity
from fss_toolbox.doctor.kernel_counting import check_exact, exactness_of

FIELDS = "ID: 300\nformat:\n" + "".join(
    f"\tfield:u32 {name};\toffset:8;\tsize:4;\tsigned:0;\n" for name in ("dev", "arg_count", "res_count", "error")
)


def tracefs(root: Path, *, nfs: bool = True, hist: bool = True) -> Path:
    """Files as a kernel shows them, for who only looks."""
    events = ["sched/sched_switch", *(["nfs/nfs_readpage_done", "nfs/nfs_writeback_done"] if nfs else [])]
    for event in events:
        folder = root / "events" / event
        folder.mkdir(parents=True)
        (folder / "trigger").touch()
        (folder / "format").write_text(FIELDS)
        if hist:
            (folder / "hist").touch()
    (root / "instances").mkdir()
    return root


def sysfs(root: Path, lockdown: str = "", selinux: str = "") -> Path:
    for name, text in (("kernel/security/lockdown", lockdown), ("fs/selinux/enforce", selinux)):
        if text:
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(text)
    return root


def told(exactness: Exactness | None) -> list[Finding]:
    return list(check_exact(client(exactness=exactness)))


def test_what_was_not_looked_at_is_not_mentioned() -> None:
    assert told(None) == []


def test_without_tracefs_the_reason_says_how_to_mount_it(tmp_path: Path) -> None:
    (only,) = told(exactness_of((tmp_path / "tracing",), tmp_path))

    assert f"mount -t tracefs tracefs {tmp_path}/tracing" in only.message
    assert only.severity is Severity.OK  # exact mode is not needed


def test_a_kernel_that_cannot_count_is_reported(tmp_path: Path) -> None:
    (only,) = told(exactness_of((tracefs(tmp_path / "t", hist=False),), tmp_path))

    assert "CONFIG_HIST_TRIGGERS" in only.message


def test_a_kernel_that_can_count_is_reported_with_the_price_and_the_flag(tmp_path: Path) -> None:
    root = tracefs(tmp_path / "t")
    (only,) = told(exactness_of((root,), tmp_path))

    assert "1,300 instructions" in only.message
    assert "--nfs.exact=auto" in only.fix
    assert list((root / "instances").iterdir()) == []


def test_exact_mode_waits_for_the_first_mount(tmp_path: Path) -> None:
    (only,) = told(exactness_of((tracefs(tmp_path / "t", nfs=False),), tmp_path))

    assert "From the first NFS mount on" in only.message


def test_an_instance_that_is_there_is_named_with_the_way_to_remove_it(tmp_path: Path) -> None:
    root = tracefs(tmp_path / "t")
    (root / "instances/fss-exporter").mkdir()
    (only,) = told(exactness_of((root,), tmp_path))

    assert only.fix == "if no agent with --nfs.exact runs: fss-exporter clean"


def test_every_instance_that_is_there_is_named(tmp_path: Path) -> None:
    root = tracefs(tmp_path / "t")
    for name in ("fss-exporter", "fss-exporter-latency"):
        (root / "instances" / name).mkdir()
    (only,) = told(exactness_of((root,), tmp_path))

    assert f"{root}/instances/fss-exporter {root}/instances/fss-exporter-latency" in only.message


def test_a_kernel_that_has_sizes_but_no_durations_is_reported_which_field_is_missing(tmp_path: Path) -> None:
    root = tracefs(tmp_path / "t")
    folder = root / "events/sunrpc/rpc_stats_latency"
    folder.mkdir(parents=True)
    for name, text in (("trigger", ""), ("hist", ""), ("format", FIELDS)):
        (folder / name).write_text(text)
    _, durations = told(exactness_of((root,), tmp_path))

    assert "durations of requests cannot be counted" in durations.message
    assert "no field client_id" in durations.message


@pytest.mark.parametrize(
    ("lockdown", "selinux", "also"),
    [
        ("none [integrity] confidentiality\n", "", []),
        ("[none] integrity confidentiality\n", "1", ["SELinux"]),
        ("", "0", []),
    ],
)
def test_selinux_is_reported_and_lockdown_that_allows_tracing_is_not(
    tmp_path: Path, lockdown: str, selinux: str, also: list[str]
) -> None:
    _, *others = told(exactness_of((tracefs(tmp_path / "t"),), sysfs(tmp_path / "sys", lockdown, selinux)))

    assert [word for word in ("lockdown", "SELinux") for other in others if word in other.message] == also


def test_lockdown_that_forbids_tracing_is_the_only_thing_said(tmp_path: Path) -> None:
    (finding,) = told(
        exactness_of((tracefs(tmp_path / "t"),), sysfs(tmp_path / "sys", "none integrity [confidentiality]\n"))
    )

    assert "kernel lockdown is in mode confidentiality" in finding.message
