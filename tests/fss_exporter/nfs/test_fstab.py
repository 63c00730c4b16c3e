"""NFS entries of /etc/fstab that are not mounted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.clock import Clock
from tests.exposition_text import written
from tests.fss_exporter.nfs.records import mountinfo

from fss_exporter.errors import SourceError
from fss_exporter.nfs.fstab import FstabWatch, missing_entries, parse_fstab, read_fstab
from fss_exporter.nfs.mountinfo import MountFilter

AUTOFS = "60 28 0:60 / /mnt/a rw,relatime - autofs systemd-1 rw,fd=51\n"


def missing(fstab: str, mounted: str = "", wanted: MountFilter | None = None) -> list[str]:
    entries = missing_entries(parse_fstab(fstab.encode()), mounted, *([wanted] if wanted else []))
    return [entry.mount_point for entry in entries]


def mounted_at(mount_point: str, device: str = "10.0.0.1:/a", fstype: str = "nfs") -> str:
    return mountinfo(mount_point=mount_point, device=device).replace(" - nfs ", f" - {fstype} ")


@pytest.mark.parametrize(
    ("line", "mounted", "gone"),
    [
        ("10.0.0.1:/a /mnt/a nfs defaults 0 0", "", ["/mnt/a"]),
        ("10.0.0.1:/a /mnt/a nfs4 defaults", "", ["/mnt/a"]),
        ("10.0.0.1:/a /mnt/a nfs", "", ["/mnt/a"]),
        ("10.0.0.1:/a\t/mnt/a\tnfs,nfs4\tdefaults", "", ["/mnt/a"]),
        ("10.0.0.1:/a /mnt/a oci-fss defaults,_netdev", "", ["/mnt/a"]),
        ("10.0.0.1:/a /mnt/a nfs nofail,bg,_netdev 0 0", "", ["/mnt/a"]),
        ("10.0.0.1:/a /mnt/a nfs noauto 0 0", "", []),
        ("10.0.0.1:/a /mnt/a nfs defaults,x-systemd.automount,nofail 0 0", "", []),
        ("10.0.0.1:/a /mnt/a nfs comment=systemd.automount 0 0", "", []),
        ("10.0.0.1:/a /mnt/a nfs defaults 0 0", AUTOFS, []),
        ("10.0.0.1:/a /mnt/a nfs defaults 0 0", mounted_at("/mnt/a"), []),
        ("10.0.0.1:/a /mnt/a nfs defaults 0 0", mounted_at("/mnt/a", "10.0.0.9:/moved", "nfs4"), []),
        ("10.0.0.1:/a /mnt/a nfs defaults 0 0", mounted_at("/mnt/a", fstype="ext4"), ["/mnt/a"]),
        ("10.0.0.1:/a //mnt//a/ nfs defaults 0 0", mounted_at("/mnt/a"), []),
        ("10.0.0.1:/a /data nfs defaults 0 0", mounted_at("/real/data", "10.0.0.1:/a/"), []),  # below a link
        (r"10.0.0.1:/a /mnt/a\040b nfs defaults 0 0", mounted_at(r"/mnt/a\040b"), []),
        (r"10.0.0.1:/a /mnt/\303\244 nfs defaults 0 0", mounted_at("/mnt/ä"), []),
        (r"10.0.0.1:/a /mnt/a\040b nfs defaults 0 0", "", ["/mnt/a b"]),
        ("# 10.0.0.1:/a /mnt/a nfs defaults 0 0", "", []),
        ("/dev/sda1 /mnt/a ext4 defaults 0 0", "", []),
        ("10.0.0.1:/a none nfs defaults 0 0", "", []),
        ("10.0.0.1:/a /mnt/" + "a" * 5000 + " nfs defaults 0 0", "", []),
        ("10.0.0.1:/a /mnt/a nfs x 0 0\n10.0.0.1:/b /mnt/a nfs x 0 0", "", ["/mnt/a"]),
        ("10.0.0.1:/a /mnt/a nfs x 0 0\n10.8.0.1:/a /mnt/a nfs noauto 0 0", "", ["/mnt/a"]),  # over a VPN
        ("a:/x /mnt/x nfs x 0 0\r\na:/x /mnt/y nfs x 0 0", mounted_at("/mnt/y", "a:/x"), ["/mnt/x"]),
    ],
)
def test_an_entry_is_missing_if_it_should_be_mounted_and_is_not(line: str, mounted: str, gone: list[str]) -> None:
    assert missing(line, mounted) == gone


@pytest.mark.parametrize(
    "volume",
    [
        "/var/lib/kubelet/pods/3f1c/volumes/kubernetes.io~nfs/data",
        "/var/lib/kubelet/pods/3f1c/volumes/kubernetes.io~csi/pv-1/mount",
        "/var/lib/kubelet/plugins/kubernetes.io/csi/fss.csi.oraclecloud.com/8a/globalmount",
        "/var/lib/kubelet/pods/3f1c/volume-subpaths/pv-1/web/0",
        "/var/lib/docker/volumes/data/_data",
        "/home/u/.local/share/containers/storage/volumes/data/_data",
    ],
)
def test_a_volume_of_a_container_does_not_stand_for_a_mount_that_is_gone(volume: str) -> None:
    assert missing("10.0.0.1:/a /mnt/a nfs x", mounted_at(volume, "10.0.0.1:/a")) == ["/mnt/a"]
    assert missing(f"10.0.0.1:/a {volume} nfs x", mounted_at(volume, "10.0.0.1:/a")) == []


def test_the_filter_of_mounts_leaves_out_entries_as_well() -> None:
    assert missing("a:/x /mnt/x nfs x\na:/y /mnt/y nfs x", wanted=MountFilter(exclude="/mnt/x")) == ["/mnt/y"]


@given(st.binary(max_size=60), st.text(max_size=60))
def test_no_content_is_an_error(raw: bytes, mounted: str) -> None:
    line = b"10.0.0.1:/" + raw.replace(b"\n", b" ") + b" /mnt/" + raw + b" nfs x"
    missing_entries(parse_fstab(raw + b"\n" + line), mounted + " - autofs " + mounted)


def write(text: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(text)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Path.mkdir, "Is a directory"),
        (os.mkfifo, "not a regular file"),
        (write(b"#" * (1 << 20) + b"#"), "larger than 1 MiB"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
        (lambda _: None, "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_not_known_and_no_zero(
    make: Callable[[Path], object], why: str, tmp_path: Path
) -> None:
    make(tmp_path / "fstab")
    with pytest.raises(SourceError, match=why):
        read_fstab(tmp_path, "1", tmp_path / "fstab")
    watch = FstabWatch(lambda: read_fstab(tmp_path, "1", tmp_path / "fstab"))
    watch.look()
    assert list(watch.families()) == []


def test_a_file_that_was_replaced_below_the_bind_of_a_unit_is_not_known(tmp_path: Path) -> None:
    file = (tmp_path / "fstab").open("w+")
    (tmp_path / "fstab").unlink()
    with file, pytest.raises(SourceError, match="was replaced since the start"):
        read_fstab(tmp_path, "1", Path(f"/proc/self/fd/{file.fileno()}"))


def test_the_fstab_of_a_container_is_not_that_of_the_host(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1/mountinfo").write_text("22 1 259:1 / / rw - xfs /dev/nvme0n1p1 rw\n")
    with pytest.raises(SourceError, match=r"so name it with --path\.fstab"):
        read_fstab(tmp_path, "1", None)


def test_a_missing_mount_is_counted_within_a_minute_and_named(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1/mountinfo").write_text(mounted_at("/mnt/a"))
    (tmp_path / "fstab").write_bytes(b'a:/a /mnt/a nfs x\na:/b /mnt/\xff" nfs x\n')
    clock = Clock()
    watch = FstabWatch(lambda: read_fstab(tmp_path, "1", tmp_path / "fstab"), clock)
    watch.look()
    assert r'fss_nfs_fstab_missing_mounts{mount_point="/mnt/\\xff\""} 1.0' in written(watch.families())
    (tmp_path / "fstab").write_bytes(b"a:/a /mnt/a nfs x\n")
    clock.now += 59
    watch.look()
    assert "} 1.0" in written(watch.families())
    clock.now += 1
    watch.look()
    assert 'fss_nfs_fstab_missing_mounts{mount_point=""} 0.0' in written(watch.families())
