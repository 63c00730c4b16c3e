"""`fss-exporter calibrate` at the prompt: the plan of a dry run, and what it refuses before it sends anything."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.calibrate.fake_procfs import procfs_with_mount
from tests.cli.prompt import Answer, ask
from tests.region import Region

from fss_exporter.calibrate.calibration_steps import STEPS

IDLE, HOME, MEDIA = "10.80.4.40", "10.80.1.10", "10.80.3.30"


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    with Region(calls_per_second={}) as running:
        yield running


def calibrate(region: Region, folder: Path, address: str, *flags: str) -> Answer:
    keys = folder / "keys"
    keys.mkdir()
    mount = folder / "mount"
    mount.mkdir()
    procfs = procfs_with_mount(folder / "proc", mount, address)
    credentials = region.account.write_config(keys, region.tenancy.region)
    where = ("--oci.endpoint", region.url, "--oci.config-file", str(credentials), "--path.procfs", str(procfs))
    answer = ask("calibrate", str(mount), *where, *flags)
    assert list(mount.iterdir()) == []
    return answer


def test_a_dry_run_prints_load_duration_and_price_and_sends_nothing(region: Region, tmp_path: Path) -> None:
    answer = calibrate(region, tmp_path, IDLE, "--dry-run")
    assert answer.code == 0, answer.err
    shown = " ".join(answer.out.split())
    for words in ("RENAME", "READ 1 MiB", "at most 5,000 IOPS", "USD", f"about {len(STEPS) * 4} minutes"):
        assert words in shown


def test_a_step_brings_the_steps_it_needs(region: Region, tmp_path: Path) -> None:
    out = calibrate(region, tmp_path, IDLE, "--dry-run", "--step", "remove", "--max-iops", "300").out
    assert [name for name in ("idle", "CREATE", "REMOVE", "RENAME") if name in out] == ["idle", "CREATE", "REMOVE"]
    assert "at most 300 IOPS" in out


@pytest.mark.parametrize(
    ("address", "flags", "words"),
    [
        (HOME, (), "--other-clients"),
        (MEDIA, ("--dry-run",), "--max-iops: no IOPS ceiling is published"),
        ("10.1.2.3", ("--dry-run",), "0 mount targets have address 10.1.2.3"),
        (IDLE, ("--dry-run", "--mount-target", "ocid1.mounttarget.oc1.x.y"), "0 mount targets have ocid1"),
        (IDLE, ("--step", "COFFEE"), "no such step"),
    ],
)
def test_it_refuses_with_one_line_and_exit_code_2(
    address: str, flags: tuple[str, ...], words: str, region: Region, tmp_path: Path
) -> None:
    answer = calibrate(region, tmp_path, address, *flags)
    assert answer.code == 2
    assert answer.out == ""
    assert words in answer.err
    assert len(answer.err.splitlines()) == 1


def test_an_account_without_permission_says_so(region: Region, tmp_path: Path) -> None:
    region.add_fault("deny:ListMountTargets")
    try:
        answer = calibrate(region, tmp_path, IDLE, "--dry-run")
    finally:
        region.clear_faults()
    assert answer.code != 0
    assert "Traceback" not in answer.err
