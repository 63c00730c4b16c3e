"""Which of the service limits of File Storage is about mount targets, and which about file systems: the name comes from the account."""

import pytest

from fss_exporter.oci.client.sdk_client import service_limit_of


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("file-system-count", "mount-target-count"), "mount-target-count"),
        (("mount-target-20gbps-count", "mount-target-count"), "mount-target-count"),
        (("MOUNT_TARGET_COUNT", "file-system-count"), "MOUNT_TARGET_COUNT"),
        (("standard-mount-target-count", "file-system-count"), "standard-mount-target-count"),
        (("mount-target-20gbps-count", "mount-target-40gbps-count"), ""),
        (("file-system-count",), ""),
        ((), ""),
    ],
)
def test_the_limit_is_found_by_its_name_or_as_the_only_one_about_mount_targets(
    names: tuple[str, ...], expected: str
) -> None:
    assert service_limit_of("mount_targets", names) == expected
