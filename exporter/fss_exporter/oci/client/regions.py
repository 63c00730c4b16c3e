"""Regions by the short codes that stand in older OCIDs (`phx`, `iad`, `fra`)."""

from oci.regions import REGIONS_SHORT_NAMES


def region_of(ocid: str) -> str:
    """The region an OCID names, in full (`eu-frankfurt-1`); empty where it names none."""
    parts = ocid.split(".")
    code = parts[3].lower().replace("_", "-") if len(parts) > 4 else ""
    return str(REGIONS_SHORT_NAMES.get(code, code))
