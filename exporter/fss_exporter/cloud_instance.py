"""Whether this host is an instance of OCI. Without the rest of `instance_metadata`, because each agent asks at its start."""

from pathlib import Path
from typing import Final

METADATA_URL: Final = "http://169.254.169.254/opc/v2/instance/"
"""The service is link-local and wants the header `Authorization: Bearer Oracle`."""

_ASSET_TAG: Final = "OracleCloud.com"


def is_oci_instance(sysfs: Path) -> bool:
    """Whether this host is an instance of OCI, by the asset tag that its firmware shows."""
    try:
        tag = (sysfs / "class/dmi/id/chassis_asset_tag").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return tag.strip() == _ASSET_TAG
