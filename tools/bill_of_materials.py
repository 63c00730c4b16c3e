"""Add the packages of Debian to a bill of materials: bill_of_materials.py FROM.cdx.json PACKAGES MACHINE TO.cdx.json.

PACKAGES is the file that tools/own-python writes: name, version, source and version of the source, a line for each package.
MACHINE is x86_64 or aarch64.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tools.dependencies import OF_DEBIAN

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def components(listed: str, machine: str) -> Iterator[dict[str, Any]]:
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


def with_debian(bill: dict[str, Any], listed: str, machine: str) -> dict[str, Any]:
    """The bill with the packages, each of which the application depends on."""
    added = list(components(listed, machine))
    root = bill["metadata"]["component"]["bom-ref"]
    dependencies = [
        {**row, "dependsOn": sorted([*row.get("dependsOn", []), *(part["bom-ref"] for part in added)])}
        if row["ref"] == root
        else row
        for row in bill["dependencies"]
    ]
    leaves = [{"ref": part["bom-ref"]} for part in added]
    return {**bill, "components": [*bill["components"], *added], "dependencies": [*dependencies, *leaves]}


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    of_python, packages, machine, target = sys.argv[1:]
    bill = with_debian(json.loads(Path(of_python).read_text()), Path(packages).read_text(), machine)
    Path(target).write_text(json.dumps(bill, indent=2) + "\n")
