"""chart_schemas.py WHEEL CRDS TARGET: JSON schemas for kubeconform, without a network.

WHEEL is kubernetes-validate's, which carries Kubernetes' own schemas; CRDS is the folder of prometheus-operator's
custom resource definitions. TARGET gets one folder for each Kubernetes version and one for the custom resources.
"""

import json
import sys
import zipfile
from pathlib import Path

import yaml

KUBERNETES = ("v1.27.0", "v1.37.0")
CUSTOM = ("servicemonitors", "podmonitors", "prometheusrules")


def kubernetes(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            folder, _, file = name.rpartition("/")
            version = folder.rpartition("/")[2].removesuffix("-local-strict")
            if version in KUBERNETES:
                place = target / version / file
                place.parent.mkdir(parents=True, exist_ok=True)
                # References go to a server by way of `$id`; kubeconform reads the files side by side.
                local = archive.read(name).replace(b'"/api/_definitions.json', b'"_definitions.json')
                place.write_text(json.dumps({key: part for key, part in json.loads(local).items() if key != "$id"}))


def closed(schema: object) -> object:
    """The same schema with unknown keys refused, as kubectl's strict validation refuses them."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        parts.setdefault("additionalProperties", False)
    return parts


def custom(folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for plural in CUSTOM:
        definition = yaml.safe_load((folder / f"monitoring.coreos.com_{plural}.yaml").read_text())
        kind = definition["spec"]["names"]["kind"].lower()
        for version in definition["spec"]["versions"]:
            schema = closed(version["schema"]["openAPIV3Schema"])
            (target / f"{kind}-monitoring-{version['name']}.json").write_text(json.dumps(schema))


if __name__ == "__main__":
    wheel, crds, target = map(Path, sys.argv[1:])
    kubernetes(wheel, target)
    custom(crds, target / "custom")
