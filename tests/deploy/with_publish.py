"""Part of `make rehearse`: images and chart, as tools/release/publish pushes them to a registry. The registry of Debian runs on loopback."""

import gzip
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes import get, process, require, wait_for

import fss_exporter

ROOT = Path(__file__).parents[2]
VERSION = fss_exporter.__version__
STAMP: dict[str, Any] = runpy.run_path(str(ROOT / "tools/release/stamp.py"))


def blob(layout: Path, content: bytes, media_type: str, **more: object) -> dict[str, object]:
    """Write a blob of an OCI layout, and return its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    (layout / "blobs/sha256").mkdir(parents=True, exist_ok=True)
    (layout / "blobs/sha256" / digest).write_bytes(content)
    return {
        "mediaType": f"application/vnd.oci.{media_type}",
        "digest": f"sha256:{digest}",
        "size": len(content),
        **more,
    }


def write_layout(layout: Path) -> None:
    """Write a layout as buildx does, with an image for each of two architectures."""
    images = []
    for architecture in ("amd64", "arm64"):
        place = {"architecture": architecture, "os": "linux"}
        layer = gzip.compress(architecture.encode())
        config = {**place, "config": {}, "rootfs": {"type": "layers", "diff_ids": [f"sha256:{'0' * 64}"]}}
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": blob(layout, json.dumps(config).encode(), "image.config.v1+json"),
            "layers": [blob(layout, layer, "image.layer.v1.tar+gzip")],
        }
        images.append(blob(layout, json.dumps(manifest).encode(), "image.manifest.v1+json", platform=place))
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": images}
    both = blob(layout, json.dumps(index).encode(), "image.index.v1+json")
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [both]}))
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def pack(checkout: Path, folder: Path) -> None:
    """Pack the chart of a checkout into a folder."""
    command = ("package", checkout / "deploy/helm/fss-exporter", "--destination", folder)
    subprocess.run([ROOT / ".tools/bin/helm", *command], check=True, capture_output=True)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A checkout of the files that tools/release/publish reads, with two small images in layouts and a chart that names them."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("tools", ".tools"):
        (checkout / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "deploy/helm", checkout / "deploy/helm")
    for name in (STAMP["PACKAGE"], STAMP["PROJECT"]):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    for image in ("agent", "poller"):
        write_layout(checkout / "images" / image)
    STAMP["stamp"](checkout, {"REGISTRY": "registry.example.com/team", "IMAGES": str(checkout / "images")})
    pack(checkout, checkout / "dist")
    return checkout


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of an empty registry on loopback."""
    (tmp_path / "registry.yml").write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {tmp_path}/registry}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n"
    )
    log = tmp_path / "registry.log"
    with process([require("docker-registry", "docker-registry"), "serve", str(tmp_path / "registry.yml")], log):
        (port,) = wait_for(
            lambda: re.findall(r"listening on 127\.0\.0\.1:(\d+)", log.read_text()), f"a registry, see {log}"
        )
        yield f"127.0.0.1:{port}"


def publish(release: Path, registry: str) -> subprocess.CompletedProcess[str]:
    """Run tools/release/publish as the workflow does."""
    environment = os.environ | {"IMAGES": str(release / "images"), "PLAIN_HTTP": "1", "HOME": str(release)}
    command = (release / "tools/release/publish", f"{registry}/team")
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_the_registry_has_the_digests_that_the_chart_names_and_a_second_run_changes_nothing(
    release: Path, registry: str
) -> None:
    values = (release / STAMP["VALUES"]).read_text()
    for _ in range(2):
        done = publish(release, registry)
        assert done.returncode == 0, done.stderr
        for image in ("agent", "poller"):
            found = skopeo("inspect", "--raw", f"docker://{registry}/team/fss-exporter-{image}:{VERSION}")
            digest = hashlib.sha256(found.encode()).hexdigest()
            assert f'digest: "sha256:{digest}"' in values
            assert [each["platform"]["architecture"] for each in json.loads(found)["manifests"]] == ["amd64", "arm64"]
        chart = json.loads(skopeo("inspect", "--raw", f"docker://{registry}/team/charts/fss-exporter:{VERSION}"))
        assert chart["config"]["mediaType"] == "application/vnd.cncf.helm.config.v1+json"


def test_nothing_is_pushed_where_the_chart_names_other_images(release: Path, registry: str) -> None:
    pack(ROOT, release / "dist")
    done = publish(release, registry)
    assert done.returncode == 2
    assert "does not name" in done.stderr
    assert '"repositories":[]' in get(f"http://{registry}/v2/_catalog")


def skopeo(*command: str) -> str:
    done = subprocess.run(["skopeo", *command, "--tls-verify=false"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
