"""Mounts that only other mount namespaces have."""

import shutil
from itertools import cycle
from pathlib import Path

import pytest
from tests.fss_exporter.nfs.records import mountinfo, mountstats

from fss_exporter.errors import SourceError
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mountinfo import MountFilter
from fss_exporter.nfs.other_namespaces import LARGEST_CPU_SHARE, SEARCH_SECONDS, EveryNamespace
from fss_exporter.nfs.procfs import Procfs


class Host:
    """A procfs with processes in mount namespaces."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = 0.0
        self.cpu_s = 0.0  # of a search
        self.namespaces: dict[str, int] = {}
        self.made: list[str] = []  # processes that got a reader
        self.process(1, "host", 40)
        cpu_clock = (self.cpu_s * half for half in cycle((0, 1)))
        self.reader = EveryNamespace(
            Procfs(root, sysfs=root / "sys"), self._of_process, lambda: self.now, lambda: next(cpu_clock)
        )

    def _of_process(self, number: str) -> Procfs:
        self.made.append(number)
        return Procfs(self.root, number)

    def process(
        self, number: int, namespace: str, *superblocks: int, reads: int = 5, age: int = 1000, is_of_root: bool = True
    ) -> None:
        folder = self.root / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        texts = [(f"0:{superblock}", f"10.0.0.3:/{superblock}", f"/mnt/{superblock}") for superblock in superblocks]
        first = 100 * self.namespaces.setdefault(namespace, len(self.namespaces) + 1)
        (folder / "mountinfo").write_text(
            f"{first} 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
            + "".join(
                mountinfo(superblock=text, device=device, mount_point=place, mount_id=first + mount)
                for mount, (text, device, place) in enumerate(texts, start=1)
            )
        )
        if not is_of_root:
            # The kernel refuses to open the file. So does a missing file, for a test that may run as root.
            return
        (folder / "mountstats").write_text(
            "device rootfs mounted on / with fstype rootfs\n"
            + "".join(
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


class TestCountersOfAnotherUser:
    """Root without CAP_DAC_OVERRIDE reads mountinfo of every process, and mountstats of the processes of root."""

    def test_a_mount_whose_counters_belong_to_another_user_is_present_and_not_read(self, host: Host) -> None:
        host.process(70, "container", 40, 50, is_of_root=False)

        assert host.seen() == {"/40": 5}
        assert host.reader.read().present == {"0:40", "0:50"}
        assert host.reader.read().unread == 1

    def test_a_process_of_root_in_the_same_namespace_shows_the_counters(self, host: Host) -> None:
        host.process(70, "container", 50, is_of_root=False)
        host.process(71, "container", 50, reads=9)

        assert host.seen() == {"/40": 5, "/50": 9}
        assert host.reader.read().unread == 0

    def test_a_process_of_root_in_another_namespace_shows_the_counters_too(self, host: Host) -> None:
        host.process(70, "container", 50, is_of_root=False)
        host.process(71, "other container", 50, reads=9)

        assert host.seen() == {"/40": 5, "/50": 9}
        assert host.reader.read().unread == 0

    def test_a_mount_that_is_gone_is_no_longer_expected(self, host: Host) -> None:
        host.process(70, "container", 50, is_of_root=False)
        host.seen()
        host.ends(70)
        host.seen()

        assert host.reader.read().unread == 0


class TestManyNamespaces:
    """A user without any right can make hundreds of namespaces, with copies of the host's mounts or none."""

    def test_a_mount_behind_600_namespaces_without_mounts_is_read(self, host: Host) -> None:
        for number in range(100, 700):
            host.process(number, f"empty {number}")
        host.process(70, "container", 50, reads=9)

        assert host.seen() == {"/40": 5, "/50": 9}

    def test_copies_of_known_mounts_get_no_reader(self, host: Host) -> None:
        for number in range(100, 110):
            host.process(number, f"copy {number}", 40)
        for number in range(110, 120):
            host.process(number, f"container {number}", 40, 50)

        assert host.seen() == {"/40": 5, "/50": 5}
        assert len(host.made) == 1

    def test_the_next_search_keeps_the_readers(self, host: Host) -> None:
        host.process(70, "container", 50)
        host.seen()
        host.now += SEARCH_SECONDS
        host.seen()

        assert host.made == ["70"]

    def test_a_dear_search_makes_the_searches_fewer(self, host: Host) -> None:
        host.cpu_s = 2 * SEARCH_SECONDS * LARGEST_CPU_SHARE
        host.process(70, "container")
        host.seen()
        host.process(70, "container", 50)
        host.now += SEARCH_SECONDS
        assert host.seen() == {"/40": 5}

        host.now += SEARCH_SECONDS
        assert host.seen() == {"/40": 5, "/50": 5}

    def test_superblocks_above_the_supported_number_are_left_out_and_counted(self, host: Host) -> None:
        host.reader = EveryNamespace(
            Procfs(host.root, wanted=MountFilter(most=2)),
            lambda number: Procfs(host.root, number, wanted=MountFilter(most=2)),
            lambda: host.now,
        )
        host.process(70, "container", 50)
        host.process(71, "other container", 60)

        reading = host.reader.read()
        assert len(reading.superblocks) == len(reading.present) == 2
        assert reading.left_out == reading.unread == 1


def test_a_mount_that_the_host_unmounts_and_a_container_keeps_goes_on_without_a_gap(host: Host) -> None:
    accounts = Accounts()
    host.process(70, "container", 40, reads=5)
    host.tick(accounts)
    host.process(1, "host")
    host.process(70, "container", 40, reads=9, age=1001)

    assert host.tick(accounts) == 4 * 2


def test_without_the_hosts_files_a_reading_fails_as_before(host: Host) -> None:
    host.process(70, "container", 50)
    host.ends(1)

    with pytest.raises(SourceError):
        host.reader.read()


# -- superblocks without any mount


def test_a_mount_that_was_detached_with_an_open_file_is_expected_and_not_seen(host: Host) -> None:
    host.process(70, "container", 50)
    for number in (40, 50, 60):
        (host.root / f"sys/fs/nfs/0:{number}").mkdir(parents=True)
    (host.root / "sys/fs/nfs/net").mkdir()
    unread = []
    for _ in range(3):
        unread.append(host.reader.read().unread)
        host.now += SEARCH_SECONDS
    (host.root / "sys/fs/nfs/0:60").rmdir()
    unread.append(host.reader.read().unread)

    # One search may meet a mount on its way out.
    assert unread == [0, 1, 1, 0]


def test_a_mount_that_a_filter_leaves_out_is_not_detached(host: Host) -> None:
    (host.root / "sys/fs/nfs/0:40").mkdir(parents=True)
    filtered = Procfs(host.root, wanted=MountFilter(exclude="/mnt/40"), sysfs=host.root / "sys")
    reader = EveryNamespace(filtered, lambda number: Procfs(host.root, number), lambda: host.now)
    reader.read()
    host.now += SEARCH_SECONDS

    assert reader.read().detached == 0
