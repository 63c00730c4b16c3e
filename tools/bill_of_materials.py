"""Complete a bill of materials: bill_of_materials.py FROM.cdx.json TO.cdx.json [PACKAGES MACHINE].

A bill with the OCI SDK gets the copies of other projects inside it, and each wheel the libraries of C inside it. With PACKAGES it gets the packages of Debian. PACKAGES is the file that tools/own-python writes: name, version, source and version of the source, a line for each package.
MACHINE is x86_64 or aarch64.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tools.dependencies import OF_DEBIAN, OF_SDK, UNKNOWN, copies, linked

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def of_debian(listed: str, machine: str) -> Iterator[dict[str, Any]]:
    """CycloneDX components with the package URLs that a scanner of vulnerabilities looks up.

    Raises:
        KeyError: a package has no licence in `OF_DEBIAN`.
    """
    for name, version, source, _ in map(str.split, listed.splitlines()):
        url = f"pkg:deb/debian/{name}@{quote(version)}?arch={_ARCHITECTURES[machine]}&distro=debian-13"
        yield {
            "type": "library",
            "bom-ref": url,
            "name": name,
            "version": version,
            "description": f"files of Debian's package, of the source {source}",
            "licenses": [{"expression": OF_DEBIAN[name]}],
            "purl": url,
        }


def of_sdk() -> Iterator[dict[str, Any]]:
    """CycloneDX components of the copies inside the installed OCI SDK. A copy that states no version has none here."""
    for name, version in copies().items():
        stated = {"version": version, "purl": f"pkg:pypi/{name}@{version}"} if version != UNKNOWN else {}
        yield {
            "type": "library",
            "bom-ref": f"oci/_vendor/{name}",
            "name": name,
            "description": "copy inside the distribution oci, which Oracle has changed",
            "licenses": [{"expression": OF_SDK[name]}],
            **stated,
        }


def with_parts(bill: dict[str, Any], owner: str, added: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The bill with more components, on which the component with the reference `owner` depends."""
    references = [part["bom-ref"] for part in added]
    dependencies = [
        {**row, "dependsOn": sorted([*row.get("dependsOn", []), *references])} if row["ref"] == owner else row
        for row in bill["dependencies"]
    ]
    leaves = [{"ref": reference} for reference in references]
    return {**bill, "components": [*bill["components"], *added], "dependencies": [*dependencies, *leaves]}


def with_debian(bill: dict[str, Any], listed: str, machine: str) -> dict[str, Any]:
    """The bill with the packages of Debian, on which the application depends."""
    return with_parts(bill, bill["metadata"]["component"]["bom-ref"], list(of_debian(listed, machine)))


def with_copies(bill: dict[str, Any]) -> dict[str, Any]:
    """The bill with the copies inside the OCI SDK, where it has the SDK."""
    for part in bill["components"]:
        if part["name"] == "oci":
            return with_parts(bill, part["bom-ref"], list(of_sdk()))
    return bill


def with_linked(bill: dict[str, Any]) -> dict[str, Any]:
    """The bill with the libraries of C inside the wheels, each as a part of its wheel."""
    for wheel in bill["components"]:
        added = [
            {
                "type": "library",
                "bom-ref": f"{wheel['name']}/{part.name}",
                "name": part.name,
                "version": part.version,
                "description": f"linked into the distribution {wheel['name']}",
                "purl": part.url,
            }
            for part in linked(wheel["name"])
        ]
        if added:
            bill = with_parts(bill, wheel["bom-ref"], added)
    return bill


if __name__ == "__main__":
    if len(sys.argv) not in (3, 5):
        sys.exit(__doc__)
    source, target, *packages = sys.argv[1:]
    complete = with_copies(with_linked(json.loads(Path(source).read_text())))
    if packages:
        complete = with_debian(complete, Path(packages[0]).read_text(), packages[1])
    Path(target).write_text(json.dumps(complete, indent=2) + "\n")
