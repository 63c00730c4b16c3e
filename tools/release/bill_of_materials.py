"""Complete a bill of materials: bill_of_materials.py FROM.cdx.json TO.cdx.json.

A bill with the OCI SDK gets the copies of other projects inside it, and each wheel the libraries of C inside it.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.generate.dependencies import OF_SDK, UNKNOWN, copies, linked


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
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(Path, sys.argv[1:])
    complete = with_copies(with_linked(json.loads(source.read_text())))
    target.write_text(json.dumps(complete, indent=2) + "\n")
