"""`fss-exporter iostat` between saved files: which are refused, which flags do not fit, and what is made of the rest."""

import gzip
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.fss_toolbox.cli.saved_files import MIXED, compare, edited
from tests.prompt import RECORDINGS, ROOT, Answer, ask

from fss_exporter.regular_files import LARGEST_DATA_BYTES


def refused(answer: Answer) -> str:
    assert answer.code == 2
    assert answer.out == ""
    assert "Traceback" not in answer.err
    return " ".join(line for line in answer.err.splitlines() if line.startswith("fss-exporter:"))


def test_swapped_files_are_refused() -> None:
    said = refused(compare(MIXED / "after.txt", MIXED / "before.txt"))
    assert "went back from 518 to 453" in said
    assert "swapped" in said


def test_the_mount_whose_age_went_back_is_named(tmp_path: Path) -> None:
    """Of two mounts only the second one is younger in the later file, and no mount has aged."""

    def with_a_second_mount(age: int) -> Path:
        first = (MIXED / "after.txt").read_text()
        second = re.sub(
            r"age:\t\d+", f"age:\t{age}", first.replace("/export/a", "/export/z").replace("/mnt/a", "/mnt/z")
        )
        assert f"age:\t{age}" in second
        return edited(MIXED / "after.txt", tmp_path, lambda text: text + second, f"{age}.txt")

    said = refused(compare(with_a_second_mount(600), with_a_second_mount(500)))
    assert "/mnt/z: its age went back from 600 to 500" in said


def test_a_sum_says_how_many_mounts_it_leaves_out_because_their_cost_is_not_known(tmp_path: Path) -> None:
    """Beside the mount of OCI File Storage, an equal one of another server with NFSv4."""

    def with_an_nfs4_mount(name: str) -> Path:
        other = (MIXED / name).read_text().replace("10.80.1.10", "10.80.1.11").replace("/mnt/a", "/mnt/v4")
        other = (
            other.replace("fstype nfs ", "fstype nfs4 ").replace("vers=3", "vers=4.1").replace("100003/3", "100003/4")
        )
        return edited(MIXED / name, tmp_path, lambda text: text + other, name)

    said = compare(with_an_nfs4_mount("before.txt"), with_an_nfs4_mount("after.txt")).out
    assert "not included: IOPS of mounts without a known cost (1 of 2)" in said
    assert "without a known cost" not in compare(MIXED / "before.txt", MIXED / "after.txt").out


def test_a_counter_that_went_back_is_named(tmp_path: Path) -> None:
    lower = edited(MIXED / "after.txt", tmp_path, lambda text: re.sub(r"LOOKUP: \d+", "LOOKUP: 1", text))
    said = refused(compare(MIXED / "before.txt", lower))
    assert "10.80.1.10:/export/a on /mnt/a: its LOOKUP operations went back" in said
    assert str(lower) in said


def test_payload_that_went_back_is_named(tmp_path: Path) -> None:
    lower = edited(MIXED / "after.txt", tmp_path, lambda text: re.sub(r"bytes:.*", "bytes: 0 0 0 0 0 0 0 0 ", text))
    assert "bytes read went back" in refused(compare(MIXED / "before.txt", lower))


def test_a_file_cut_in_the_middle_is_refused(tmp_path: Path) -> None:
    cut = edited(MIXED / "after.txt", tmp_path, lambda text: text[: len(text) // 2])
    assert f"{cut}: cut off in the middle of a record" in refused(compare(MIXED / "before.txt", cut))


@pytest.mark.parametrize("digits", [21, 400, 5000])
def test_a_number_no_kernel_counts_costs_its_record(tmp_path: Path, digits: int) -> None:
    long = edited(MIXED / "after.txt", tmp_path, lambda text: re.sub(r"LOOKUP: \d+", f"LOOKUP: {'9' * digits}", text))
    said = refused(compare(MIXED / "before.txt", long))
    assert "no record of its NFS mounts can be read" in said


@given(st.data())
def test_whatever_became_of_a_file_it_is_read_or_refused(data: st.DataObject) -> None:
    text = (MIXED / "after.txt").read_text()
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 200)))
    put = data.draw(st.one_of(st.just(""), st.text(max_size=20), st.integers().map(str)))
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / "damaged.txt"
        damaged.write_bytes((text[:begin] + put + text[end:]).encode("utf-8", "surrogateescape"))
        answer = compare(MIXED / "before.txt", damaged, "--output", "json")
    assert answer.code in {0, 2}, answer.err


@pytest.mark.parametrize("content", ["", "\n", "{}", "device rootfs mounted on / with fstype rootfs\n"])
def test_a_file_without_nfs_mounts_is_refused(tmp_path: Path, content: str) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text(content)
    assert "no mountstats of an NFS mount in it. Give a copy of /proc/1/mountstats" in refused(
        compare(MIXED / "before.txt", empty)
    )


def test_a_saved_page_of_an_agent_is_sent_to_the_command_that_reads_it(tmp_path: Path) -> None:
    page = tmp_path / "page"
    page.write_text("# TYPE up gauge\nfss_client_operations_total 1\n")

    assert "Give two saved pages to `fss-exporter plan --scrapes`" in refused(compare(page, page))


def test_a_compressed_copy_is_read_like_the_file_itself(tmp_path: Path) -> None:
    packed = tmp_path / "before.gz", tmp_path / "after.gz"
    for path in packed:
        path.write_bytes(gzip.compress((MIXED / path.with_suffix(".txt").name).read_bytes()))
    plain = compare(MIXED / "before.txt", MIXED / "after.txt").out
    assert compare(*packed).out.replace(str(tmp_path), "") == plain.replace(str(MIXED), "").replace(".txt", ".gz")


def test_a_compressed_copy_that_is_cut_off_or_far_too_long_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "copy.gz"
    whole = gzip.compress((MIXED / "after.txt").read_bytes())
    copy.write_bytes(whole[:-9])
    assert f"{copy}: cannot be read: its gzip data are damaged or cut off" in refused(ask("iostat", "--to", copy))
    copy.write_bytes(gzip.compress(bytes(LARGEST_DATA_BYTES + 1), 1))
    assert f"{copy}: cannot be read: larger than 256 MiB" in refused(ask("iostat", "--to", copy))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path / 'gone'}: cannot be read: No such file" in refused(
        compare(MIXED / "before.txt", tmp_path / "gone")
    )


def test_files_of_two_hosts_are_refused(tmp_path: Path) -> None:
    other = edited(MIXED / "after.txt", tmp_path, lambda text: text.replace("/export/a", "/export/z"))
    assert "no mount in common. Give two readings of one host" in refused(compare(MIXED / "before.txt", other))


def test_the_same_look_twice_needs_the_time_between() -> None:
    assert "same second. Give the time between with --elapsed" in refused(
        compare(MIXED / "before.txt", MIXED / "before.txt")
    )


def test_the_mountinfo_of_another_host_is_refused(tmp_path: Path) -> None:
    other = edited(MIXED / "mountinfo.txt", tmp_path, lambda text: text.replace("/mnt/a", "/mnt/z"))
    said = refused(compare(MIXED / "before.txt", MIXED / "after.txt", "--mountinfo", other))
    assert "none of its mounts are in the mountinfo" in said


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--from", "a"), "--from and --to belong together"),
        (("--from", "a", "--to", "b", "5"), "leave out INTERVAL"),
        (("--mountinfo", "a"), "go with --from and --to"),
        (("--elapsed", "5s"), "go with --from and --to"),
        (("--url", "host:10949"), "give a URL like"),
        (("--url", "ftp://host/metrics"), "give a URL like"),
        (("--nfs.exact", "on"), "--nfs.exact counts what happens from now on: give an INTERVAL"),
        (("--nfs.exact", "on", "--url", "http://host/metrics"), "--nfs.exact counts on this host"),
        (("--nfs.exact", "on", "--path.tracefs", "/nowhere", "1", "1"), "--nfs.exact=on: no tracefs at /nowhere"),
        (("0",), "is not an interval"),
        (("nan",), "is not an interval"),
        (("1", "0"), "x>=1"),
    ],
)
def test_flags_that_do_not_fit_together_say_so(flags: tuple[str, ...], why: str) -> None:
    assert why in " ".join(ask("iostat", *flags).err.split())
    assert ask("iostat", *flags).code == 2


def test_a_mount_mounted_again_in_between_counts_from_zero_and_that_is_said() -> None:
    folder = RECORDINGS / "w_umount_mount"
    answer = compare(folder / "before.txt", folder / "after.txt", "--mountinfo", folder / "mountinfo.txt")
    assert answer.code == 0
    assert "10.80.1.10:/export/a on /mnt/new: mounted again in between" in answer.err


def test_a_bind_mount_that_appears_brings_none_of_the_old_counters() -> None:
    folder = RECORDINGS / "x1_bind_midway"
    infos = ("--mountinfo", folder / "mountinfo-before.txt", "--mountinfo", folder / "mountinfo-after.txt")
    with_one = compare(folder / "before.txt", folder / "after.txt", *infos, "--output", "json").document
    before, after = ((folder / name).read_text() for name in ("before.txt", "after.txt"))
    reads = [int(re.findall(r"READ: (\d+)", text)[0]) for text in (before, after)]
    (target,) = with_one["mount_targets"]
    assert target["mounts"][0]["mount_points"] == ["/mnt/a", "/mnt/bm"]
    assert target["operations_per_second"] * 7 >= reads[1] - reads[0]
    assert target["operations_per_second"] * 7 < reads[1]


def test_without_mountinfo_the_address_is_a_guess_and_that_is_said_once() -> None:
    answer = compare(MIXED / "before.txt", MIXED / "after.txt")
    assert answer.err.count("no mountinfo") == 1
    assert "10.80.1.10" in answer.out


def test_without_mountinfo_equal_mounts_of_one_export_still_count_once() -> None:
    folder = RECORDINGS / "l_same_export"
    sure = compare(
        folder / "before.txt", folder / "after.txt", "--mountinfo", folder / "mountinfo.txt", "--output", "json"
    ).document["total"]
    guessed = compare(folder / "before.txt", folder / "after.txt", "--output", "json").document["mount_targets"][0]
    export = next(mount for mount in guessed["mounts"] if mount["export"] == "/export/a")
    assert export["operations_per_second"] == sure["operations_per_second"]


def test_the_known_time_between_two_files_wins_over_their_ages() -> None:
    by_age, given = (
        compare(MIXED / "before.txt", MIXED / "after.txt", *flags, "--output", "json").document
        for flags in ((), ("--elapsed", "130s"))
    )
    assert by_age["seconds"] == 65
    assert given["total"]["operations_per_second"] * 2 == pytest.approx(by_age["total"]["operations_per_second"])


NFS_UTILS = RECORDINGS.parents[1] / "nfs-utils" / "k_mixed"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(("tool", "iops"), [("nfsiostat", 424), ("mountstats", 1261)])
def test_one_saved_output_of_nfs_utils_is_a_report(tool: str, iops: float, line_end: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved.txt"
    saved.write_bytes((NFS_UTILS / f"{tool}.txt").read_text().replace("\n", line_end).encode())
    answer = ask("iostat", "--to", saved, "--output", "json")

    assert answer.code == 0, answer.err
    assert answer.document["total"]["estimated_iops"]["point"] == pytest.approx(iops, rel=0.05)
    assert answer.document["notes"]


@pytest.mark.parametrize("end", ["average backlog", "SETATTR:", "WRITE:"])
def test_output_of_mountstats_that_ends_within_the_operations_is_refused(end: str, tmp_path: Path) -> None:
    cut = edited(NFS_UTILS / "mountstats.txt", tmp_path, lambda text: text[: text.index(end) + 60].rpartition("\n")[0])
    assert "cut off within the operations" in refused(ask("iostat", "--to", cut))


def test_nfsiostat_of_nfs_utils_1_3_is_read(tmp_path: Path) -> None:
    """The old layout has `op/s`, tabs, and neither queue nor errors."""
    old = tmp_path / "nfsiostat.txt"
    old.write_text(
        "10.80.1.10:/export/a mounted on /mnt/a:\n\n   op/s\t\trpc bklog\n 457.88 \t   0.00\n"
        "read:             ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)\n"
        "\t\t 33.738 \t2934.780 \t 86.986\t       0 (0.0%) \t 14.307 \t 15.253\n"
        "write:            ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)\n"
        "\t\t 56.969 \t1610.869 \t 28.276\t       0 (0.0%) \t  7.728 \t  8.128\n"
    )
    answer = ask("iostat", "--to", old, "--output", "json")
    assert answer.document["total"]["estimated_iops"]["point"] == pytest.approx(424, rel=0.05)


def test_one_copy_alone_has_means_since_each_mount() -> None:
    answer = ask("iostat", "--to", MIXED / "after.txt", "--mountinfo", MIXED / "mountinfo.txt")
    assert answer.code == 0
    assert "10.80.1.10" in answer.out
    assert "means since each mount, whose estimate is coarse: give an earlier copy with --from" in answer.err


def test_another_file_alone_is_refused_with_what_to_copy() -> None:
    assert "no mountstats of an NFS mount in it. Give a copy of /proc/1/mountstats" in refused(
        ask("iostat", "--to", MIXED / "mountinfo.txt")
    )


def test_nfsiostat_output_has_a_time_and_names_of_its_own() -> None:
    saved = ROOT / "tests/fixtures/nfs-utils/k_mixed/nfsiostat.txt"
    assert "nfsiostat has rates: leave out" in refused(ask("iostat", "--to", saved, "--elapsed", "9s"))


def test_a_mount_that_the_earlier_file_lacks_has_no_row_of_zeros(tmp_path: Path) -> None:
    def second(text: str) -> str:
        return text + text.replace("10.80.1.10", "10.80.2.20").replace("/mnt/a", "/mnt/b")

    after = edited(MIXED / "after.txt", tmp_path, second)
    # Ages show that the mount is older than the earlier file, whatever time between the files the operator gives.
    for flags in ((), ("--elapsed", "1000000s")):
        answer = compare(MIXED / "before.txt", after, *flags)
        assert "10.80.2.20:/export/a on /mnt/b: not in the earlier file, left out" in answer.err
        assert "10.80.2.20" not in answer.out
