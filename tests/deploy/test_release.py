"""What is released has one version everywhere, and declares what it imports. `make test-packages` builds the archives."""

import json
import os
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import fss_exporter

ROOT = Path(__file__).parents[2]
VERSION = fss_exporter.__version__


def test_the_documents_name_the_version_of_the_package() -> None:
    changelog = re.findall(
        r"^## ([\d.]+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    images = re.findall(r"fss-exporter-(?:agent|poller):([\d.]+)", (ROOT / "docs/install.md").read_text())
    assert changelog[0] == VERSION
    assert set(images) == {VERSION}


def test_the_image_has_the_version_of_the_package() -> None:
    assert f"ARG VERSION={VERSION}\n" in (ROOT / "Dockerfile").read_text()


STAMP: dict[str, Any] = runpy.run_path(str(ROOT / "tools/release/stamp.py"))
FACTS = {
    "REVISION": "0123456789ab",
    "RUNBOOK_URL": "https://example.com/fss/docs/runbook.md",
    "PROJECT_URL": "https://example.com/fss",
    "REGISTRY": "ghcr.io/example",
}
DIGESTS = {"agent": f"sha256:{'a' * 64}", "poller": f"sha256:{'b' * 64}"}


@pytest.fixture
def stamped(tmp_path: Path) -> Path:
    for name in (STAMP["PACKAGE"], STAMP["VALUES"], STAMP["PROJECT"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def facts(tmp_path: Path) -> dict[str, str]:
    """What a release knows, with the OCI layouts of its images."""
    for image, digest in DIGESTS.items():
        (tmp_path / "images" / image).mkdir(parents=True)
        (tmp_path / "images" / image / "index.json").write_text(json.dumps({"manifests": [{"digest": digest}]}))
    return FACTS | {"IMAGES": str(tmp_path / "images")}


def test_a_registry_without_images_is_refused_because_the_chart_would_pull_no_digest(stamped: Path) -> None:
    with pytest.raises(SystemExit, match="REGISTRY and IMAGES go together"):
        STAMP["stamp"](stamped, FACTS)


def test_a_folder_without_a_layout_is_refused_with_the_command_that_makes_it(stamped: Path) -> None:
    with pytest.raises(SystemExit, match=r"run IMAGES=.* tools/release/image first"):
        STAMP["stamp"](stamped, FACTS | {"IMAGES": str(stamped / "nowhere")})


def test_a_layout_with_two_images_is_refused(stamped: Path, facts: dict[str, str]) -> None:
    two = {"manifests": [{"digest": digest} for digest in DIGESTS.values()]}
    (Path(facts["IMAGES"]) / "agent/index.json").write_text(json.dumps(two))
    with pytest.raises(SystemExit, match="has 2 images and not one"):
        STAMP["stamp"](stamped, facts)


@pytest.mark.parametrize("heading", ["## 9.9.9 (2026-11-24)", "## 0.1.0 (unreleased)", ""])
def test_a_version_without_an_entry_that_has_a_date_has_no_release_notes(tmp_path: Path, heading: str) -> None:
    done = notes(tmp_path, f"# Changelog\n\n{heading}\n\n- One.\n")
    assert done.returncode == 2
    assert "CHANGELOG.md has no entry with a date for 0.1.0" in done.stderr


def test_the_release_notes_are_the_entry_of_the_version_and_nothing_else(tmp_path: Path) -> None:
    entries = "## 0.2.0 (2026-12-24)\n\n- Two.\n\n## 0.1.0 (2026-11-24)\n\n- One.\n\n## 0.0.9 (2026-10-24)\n\n- None.\n"
    assert notes(tmp_path, entries).stdout == "\n- One.\n\n"


def notes(folder: Path, changelog: str) -> subprocess.CompletedProcess[str]:
    (folder / "tools/release").mkdir(parents=True)
    shutil.copy(ROOT / "tools/release/release-notes", folder / "tools/release")
    (folder / "CHANGELOG.md").write_text(changelog)
    return subprocess.run(
        [folder / "tools/release/release-notes", "0.1.0"], capture_output=True, text=True, check=False
    )


def test_a_release_writes_its_registry_digests_and_runbook_into_the_chart(stamped: Path, facts: dict[str, str]) -> None:
    STAMP["stamp"](stamped, facts)

    values = yaml.safe_load((stamped / STAMP["VALUES"]).read_text())
    assert values["image"]["registry"] == FACTS["REGISTRY"]
    assert values["agent"]["image"]["digest"] == DIGESTS["agent"]
    assert values["poller"]["image"]["digest"] == DIGESTS["poller"]
    assert values["runbookUrl"] == FACTS["RUNBOOK_URL"]


def test_a_release_writes_its_commit_and_its_links_into_the_package(stamped: Path, facts: dict[str, str]) -> None:
    STAMP["stamp"](stamped, facts)

    package = runpy.run_path(str(stamped / STAMP["PACKAGE"]))
    assert (package["REVISION"], package["RUNBOOK_URL"]) == (FACTS["REVISION"], FACTS["RUNBOOK_URL"])
    urls = tomllib.loads((stamped / STAMP["PROJECT"]).read_text())["project"]["urls"]
    assert urls["Homepage"] == FACTS["PROJECT_URL"]
    assert urls.keys() == {"Homepage", "Documentation", "Changelog", "Issues"}


def test_without_a_place_of_publication_a_release_changes_nothing(stamped: Path) -> None:
    STAMP["stamp"](stamped, {"REVISION": "", "RUNBOOK_URL": ""})

    for name in (STAMP["PACKAGE"], STAMP["VALUES"], STAMP["PROJECT"]):
        assert (stamped / name).read_text() == (ROOT / name).read_text()


def test_every_action_of_a_workflow_is_named_by_its_commit() -> None:
    used = [
        line.strip()
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    assert used
    assert [line for line in used if not re.fullmatch(r"- uses: [\w./-]+@[0-9a-f]{40}  # v[\d.]+", line)] == []


def step(job: str, start: str) -> str:
    """The script of the one step of a job of release.yml that begins with these words, or with this name."""
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"][job]["steps"]
    (script,) = (step["run"] for step in steps if f"{step.get('name', '')}\n{step.get('run', '')}".startswith(start))
    return str(script)


def run_step(script: str, folder: Path, gh: str) -> tuple[int, str, str]:
    """Run a step as a runner does, with a stub of `gh`. Return the exit code, what it hands on, and what it prints."""
    (folder / "gh").write_text(f"#!/bin/bash\n{gh}\n")
    (folder / "gh").chmod(0o755)
    for name in ("tools", ".ci"):
        (folder / name).symlink_to(ROOT / name)
    handed_on = folder / "output"
    handed_on.touch()
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(handed_on),
        "GITHUB_REF_NAME": f"v{VERSION}",
        "GITHUB_REPOSITORY": "example/fss",
        "GITHUB_SHA": "a" * 40,
        "WITHOUT": "",
    }
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, handed_on.read_text(), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("gh", "code", "handed_on"),
    [
        (f"echo v{VERSION}", 0, "published=yes\n"),
        ("echo v9.9.9", 0, ""),
        ("true", 0, ""),
        ("echo 'HTTP 502' >&2; exit 1", 1, ""),
    ],
    ids=["published", "another version", "nothing", "no answer"],
)
def test_a_published_tag_is_left_alone_and_without_an_answer_nothing_is_built_over_it(
    tmp_path: Path, gh: str, code: int, handed_on: str
) -> None:
    done = run_step(step("state", "\n"), tmp_path, gh)
    assert done[:2] == (code, handed_on), done[2]


def test_a_run_of_the_long_parts_that_left_no_table_ran_no_part(tmp_path: Path) -> None:
    gh = "[ $2 != list ] || echo 17; [ $2 != download ] || { echo 'no artifact' >&2; exit 1; }"
    code, _, said = run_step(step("release", "refuse a commit"), tmp_path, gh)
    assert code == 1
    assert "no artifact" in said
    assert "soak: not run" in said


def test_updates_of_node_libraries_are_looked_for_in_each_folder_that_locks_some() -> None:
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]
    (folders,) = (update["directories"] for update in updates if update["package-ecosystem"] == "npm")
    locked = (path.parent for room in ("lab", "tests", "tools") for path in (ROOT / room).rglob("package-lock.json"))
    assert set(folders) == {f"/{path.relative_to(ROOT)}" for path in locked if "node_modules" not in path.parts}
