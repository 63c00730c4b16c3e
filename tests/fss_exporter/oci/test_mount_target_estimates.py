"""IOPS of one mount target in one minute, from what OCI publishes of the file systems behind."""

from fss_exporter.oci.minute_metrics import METADATA, READ_BYTES, READS, WRITES
from fss_exporter.oci.minutes.mount_target_estimates import estimate

MEGABYTE = float(1 << 20)


def test_reads_of_one_megabyte_cost_33_and_metadata_its_price() -> None:
    values = {
        (READS, "a", "64KiB_to_1MiB"): 10.0,
        (READ_BYTES, "a"): 10 * MEGABYTE,
        (METADATA, "a", "GETATTR"): 7.0,
    }
    assert estimate(values) == (337, 337, 337)


def test_file_systems_behind_one_mount_target_add_up() -> None:
    made = estimate({(READS, "a", "0B_to_8KiB"): 1.0, (WRITES, "b", "0B_to_8KiB"): 2.0})
    assert made is not None
    assert made.point == 1 * 2 + 2 * 4


def test_without_a_file_system_there_is_no_estimate() -> None:
    assert estimate({}) is None
    assert estimate({("MountTargetConnections",): 7.0}) is None
