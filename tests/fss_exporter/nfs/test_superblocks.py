"""Which counters belong together, and what their series are called."""

import pytest
from hypothesis import given, strategies as st
from tests.fss_exporter.nfs.records import Names, mountinfo, mountstats
from tests.recordings import load_all

from fss_exporter.addresses import AddressMap
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.mountinfo import parse_mountinfo, split_device
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join


@pytest.mark.parametrize(
    "line",
    [
        "- nfs\n",
        "46 80 - nfs 10.0.0.3:/a rw\n",
        "46 80 zero / /mnt rw - nfs 10.0.0.3:/a rw\n",
        "46 80 0:1 / /mnt rw - nfs dev\n",
    ],
)
def test_a_mountinfo_line_that_cannot_be_read_costs_only_itself(line: str) -> None:
    info = parse_mountinfo(" " + line + mountinfo())

    assert info.skipped == ("malformed_mountinfo",)
    assert len(info.mounts) == 1


@given(st.text())
def test_no_text_crashes_the_mountinfo_parser(text: str) -> None:
    parse_mountinfo(text)


@pytest.mark.parametrize("fstype", ["ext4", "nfsd", "autofs"])
def test_other_file_systems_in_mountinfo_are_passed_over(fstype: str) -> None:
    assert parse_mountinfo(mountinfo(fstype=fstype)).mounts == ()


@pytest.mark.parametrize(
    ("device", "server", "export"),
    [
        ("10.0.0.3:/a", "10.0.0.3", "/a"),
        ("nfs.example:/a:b/c", "nfs.example", "/a:b/c"),
        ("[2001:db8::1]:/a", "2001:db8::1", "/a"),
        ("fe80::1%eth0:/a", "fe80::1%eth0", "/a"),
        ("server:/", "server", "/"),
        ("nonsense", "nonsense", ""),
    ],
)
def test_a_device_splits_at_the_colon_of_its_server(device: str, server: str, export: str) -> None:
    assert split_device(device) == (server, export)


def joined(stats: str, info: str, address_map: dict[str, str] | None = None) -> Reading:
    return join(parse_mountstats(stats), parse_mountinfo(info), AddressMap(address_map))


def test_several_mounts_of_one_superblock_are_one_set_of_counters() -> None:
    places = ("/mnt/a", "/mnt/b")
    reading = joined(
        "".join(mountstats({"READ": 5}, mount_point=place) for place in places),
        "".join(mountinfo(mount_point=place) for place in places),
    )

    assert len(reading.superblocks) == 1
    assert [mount.mount_point for mount in reading.superblocks[0].mounts] == ["/mnt/a", "/mnt/b"]


def test_one_device_under_two_superblocks_is_two_sets_of_counters() -> None:
    reading = joined(
        mountstats({"READ": 5}, mount_point="/mnt/a") + mountstats({"READ": 7}, mount_point="/mnt/b"),
        mountinfo(mount_point="/mnt/a", superblock="0:40") + mountinfo(mount_point="/mnt/b", superblock="0:41"),
    )

    assert [superblock.record.operations["READ"].operations for superblock in reading.superblocks] == [5, 7]


def test_mounts_stacked_on_one_mount_point_are_kept_apart_by_their_order() -> None:
    reading = joined(
        mountstats({"READ": 5}) + mountstats({"READ": 7}), mountinfo(superblock="0:40") + mountinfo(superblock="0:41")
    )

    counts = {superblock.number: superblock.record.operations["READ"].operations for superblock in reading.superblocks}
    assert counts == {"0:40": 5, "0:41": 7}


def test_lines_without_a_device_between_the_mounts_do_not_shift_the_join() -> None:
    reading = joined(
        mountstats({"READ": 5}, mount_point="/mnt/a")
        + "no device mounted on /x with fstype autofs\n"
        + mountstats({"READ": 7}, mount_point="/mnt/b", device="10.0.0.4:/b"),
        mountinfo(mount_point="/mnt/b", device="10.0.0.4:/b", superblock="0:41", address="10.0.0.4") + mountinfo(),
    )

    assert {
        superblock.key.address: superblock.record.operations["READ"].operations for superblock in reading.superblocks
    } == {
        "10.0.0.3": 5,
        "10.0.0.4": 7,
    }


@pytest.mark.parametrize("server", ["10.0.0.3", "0.nas.example"])
def test_a_bind_mount_of_a_directory_does_not_rename_the_export_whatever_it_calls_the_server(server: str) -> None:
    sub: Names = {"mount_point": "/mnt/sub", "device": f"{server}:/a/deep/down"}
    reading = joined(mountstats({"READ": 5}, **sub) + mountstats({"READ": 5}), mountinfo(**sub) + mountinfo())

    assert [superblock.key for superblock in reading.superblocks] == [SeriesKey("10.0.0.3", "10.0.0.3", "/a")]


def test_a_record_without_its_line_in_mountinfo_is_skipped_and_said() -> None:
    reading = joined(mountstats({"READ": 5}) + mountstats({"READ": 1}, mount_point="/mnt/new"), mountinfo())

    assert reading.skipped == ("not_in_mountinfo",)
    assert len(reading.superblocks) == 1


def test_the_address_comes_from_mountinfo_and_not_from_the_name() -> None:
    device = "fss.example:/a"
    reading = joined(mountstats({"READ": 5}, device=device), mountinfo(device=device, address="10.0.0.3"))

    assert reading.superblocks[0].key == SeriesKey("10.0.0.3", "fss.example", "/a")


def test_without_an_address_the_server_stands_in_for_it() -> None:
    reading = joined(mountstats({"READ": 5}), mountinfo(address=""))

    assert reading.superblocks[0].key.address == "10.0.0.3"


def test_a_tls_forwarder_is_resolved_by_the_address_map() -> None:
    forwarder: Names = {"device": "192.168.255.7:/a"}
    stats, info = mountstats({"READ": 5}, **forwarder), mountinfo(**forwarder, address="192.168.255.7")
    resolved, unresolved = joined(stats, info, {"192.168.255.7": "10.0.0.3"}), joined(stats, info)

    assert resolved.superblocks[0].key.address == "10.0.0.3"
    assert resolved.superblocks[0].encrypted
    assert (resolved.unresolved, unresolved.unresolved) == (frozenset(), frozenset({"192.168.255.7"}))


def test_kernel_tls_is_encrypted_without_a_forwarder() -> None:
    reading = joined(mountstats({"READ": 1}), mountinfo(options="rw,vers=3,xprtsec=tls"))

    assert reading.superblocks[0].encrypted


@pytest.mark.parametrize(
    ("address", "stated", "joined_by"),
    [
        ("::ffff:10.0.0.9", {}, "10.0.0.9"),
        ("::ffff:192.168.255.2", {"192.168.255.2": "10.0.0.9"}, "10.0.0.9"),
        ("2001:db8::9", {}, "2001:db8::9"),
        ("fe80::1%eth0", {}, "fe80::1"),
        ("nfs.example", {}, "nfs.example"),
    ],
)
def test_an_ipv4_address_written_as_ipv6_is_the_same_mount_target(
    address: str, stated: dict[str, str], joined_by: str
) -> None:
    device = f"[{address}]:/a"
    reading = joined(mountstats({"READ": 5}, device=device), mountinfo(device=device, address=address), stated)

    (superblock,) = reading.superblocks
    assert superblock.key.address == joined_by
    assert superblock.encrypted is bool(stated)


def test_every_recorded_record_finds_its_superblock_but_one_mounted_behind_the_recorders_back() -> None:
    skipped = {recording.name for recording in load_all() for _, reading in recording.readings() if reading.skipped}

    assert skipped == {"p_bind_ns"}
