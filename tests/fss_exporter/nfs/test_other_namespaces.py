"""Mounts that only other mount namespaces have."""

import shutil
from pathlib import Path

import pytest
from tests.fss_exporter.nfs.records import mountinfo, mountstats

from fss_exporter.errors import SourceError
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.other_namespaces import SEARCH_SECONDS, EveryNamespace
from fss_exporter.nfs.procfs import Procfs


class Host:
    """A procfs with processes in mount namespaces."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = 0.0
        self.process(1, "host", 40)
        self.reader = EveryNamespace(Procfs(root), lambda number: Procfs(root, number), lambda: self.now)

    def process(self, number: int, namespace: str, *superblocks: int, reads: int = 5, age: int = 1000) -> None:
        folder = self.root / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "ns").mkdir(parents=True)
        (folder / "ns/mnt").symlink_to(f"mnt:[{namespace}]")
        texts = [(f"0:{superblock}", f"10.0.0.3:/{superblock}", f"/mnt/{superblock}") for superblock in superblocks]
        (folder / "mountinfo").write_text(
            "".join(mountinfo(superblock=text, device=device, mount_point=place) for text, device, place in texts)
        )
        (folder / "mountstats").write_text(
            "".join(
                mountstats({"READ": reads}, device=device, mount_point=place, age=age) for _, device, place in texts
            )
        )

    def ends(self, number: int) -> None:
        shutil.rmtree(self.root / str(number))

    def seen(self) -> dict[str, int]:
        """READs by export."""
        superblocks = self.reader.read().superblocks
        return {superblock.key.export: superblock.record.operations["READ"].operations for superblock in superblocks}

    def tick(self, accounts: Accounts, seconds: float = 1.0) -> float:
        """Let time pass, and count a reading. Return the I/O operations of the server so far."""
        self.now += seconds
        accounts.apply(self.reader.read(), self.now)
        return accounts.addresses["10.0.0.3"].io_operations or 0.0


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_mount_that_only_a_container_has_is_read_with_all_its_counters(host: Host) -> None:
    host.process(70, "container", 40, 50, reads=9)
    host.process(71, "container", 40, 50, reads=9)

    assert host.seen() == {"/40": 5, "/50": 9}
    assert host.reader.read().present == {"0:40", "0:50"}


def test_a_namespace_with_the_mounts_of_the_host_adds_nothing(host: Host) -> None:
    host.process(70, "container", 40, reads=9)
    host.process(71, "empty")

    assert host.seen() == {"/40": 5}


def test_a_mount_that_a_running_container_makes_is_found_within_a_minute(host: Host) -> None:
    host.process(70, "container")
    host.seen()
    host.process(70, "container", 50)
    assert host.seen() == {"/40": 5}

    host.now += SEARCH_SECONDS
    assert host.seen() == {"/40": 5, "/50": 5}


def test_the_end_of_the_process_that_was_read_leaves_the_mount_with_another_process(host: Host) -> None:
    host.process(70, "container", 50)
    host.seen()
    host.ends(70)
    host.process(71, "container", 50, reads=9)
    host.seen()

    assert host.seen() == {"/40": 5, "/50": 9}


class TestMountsMadeSinceTheLastSearch:
    """A mount of a container is found up to a minute after its birth."""

    def test_a_mount_that_is_younger_than_the_last_search_counts_from_zero(self, host: Host) -> None:
        accounts = Accounts()
        host.process(70, "container")
        host.tick(accounts)
        host.process(70, "container", 50, reads=9, age=int(SEARCH_SECONDS))

        assert host.tick(accounts, SEARCH_SECONDS / 2) == 0
        assert host.tick(accounts, SEARCH_SECONDS / 2) == 9 * 2
        assert host.tick(accounts) == 9 * 2

    def test_its_calls_are_spread_over_the_time_since_the_last_search_and_make_no_peak(self, host: Host) -> None:
        accounts = Accounts()
        host.process(70, "container")
        host.tick(accounts)
        host.process(70, "container", 50, reads=590, age=1)
        for _ in range(int(SEARCH_SECONDS) - 1):
            host.tick(accounts)
        host.tick(accounts)

        assert accounts.peaks.highest()["10.0.0.3"] == pytest.approx(590 * 2 / SEARCH_SECONDS)

    def test_an_older_mount_brings_none_of_its_past(self, host: Host) -> None:
        accounts = Accounts()
        host.process(70, "container")
        host.tick(accounts)
        host.process(70, "container", 50, reads=9, age=int(SEARCH_SECONDS) + 1)
        host.tick(accounts, SEARCH_SECONDS / 2)

        assert host.tick(accounts, SEARCH_SECONDS / 2) == 0

    def test_a_young_mount_of_the_first_search_brings_none_of_its_past(self, host: Host) -> None:
        accounts = Accounts()
        host.process(70, "container", 50, reads=9, age=0)

        assert host.tick(accounts) == 0

    def test_a_mount_that_was_counted_and_is_found_again_does_not_count_twice(self, host: Host) -> None:
        accounts = Accounts()
        host.process(70, "container", 60)
        host.tick(accounts)
        host.process(70, "container", 60, 50, reads=9, age=0)
        counted = host.tick(accounts)
        host.ends(70)
        host.tick(accounts)
        host.process(71, "container", 50, reads=9, age=21)

        assert host.tick(accounts, 20) == counted > 0


def test_processes_of_other_users_are_left_out(host: Host) -> None:
    host.process(70, "container", 50)
    (host.root / "70/ns/mnt").unlink()

    assert host.seen() == {"/40": 5}


def test_without_the_hosts_files_a_reading_fails_as_before(host: Host) -> None:
    host.process(70, "container", 50)
    host.ends(1)

    with pytest.raises(SourceError):
        host.reader.read()
