"""The list of parts: what CI and `make verify` run, and what their lines, table and verdict say."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
LISTED = tomllib.loads((ROOT / ".ci/parts.toml").read_text())
PARTS: dict[str, Any] = runpy.run_path(str(ROOT / "tools/check/parts.py"))
RUN_IN = ("check", "ci", "verify")
HEAD = "a" * 40


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with three parts, of which one fails."""
    for name in ("tools/check", ".ci"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "tools/check/parts.py", tmp_path / "tools/check/parts.py")
    (tmp_path / ".gitignore").write_text("build\n")
    (tmp_path / ".ci/parts.toml").write_text("""
[check]
ready = "ready"
test = "test"
[ci]
broken = "broken"
[verify]
soak = "test"
engines = "broken"
[not-run]
compose = "no Docker."
""")
    (tmp_path / "Makefile").write_text("""
ready:
\t@echo installed
test:
\t@echo '1 failed' && echo '7 passed in 0.10s'
broken:
\t@echo 'the reason' && exit 3
""")
    for command in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def parts(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "tools/check/parts.py"), *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_part_that_fails_shows_its_last_lines_and_the_run_fails(checkout: Path) -> None:
    done = parts(checkout, "run", "check", "ci")
    assert done.returncode == 1
    assert re.search(r"^failed  broken +\d+ s$", done.stdout, re.MULTILINE)
    assert "the reason" in done.stdout
    assert "2 parts ok, 1 failed at " in done.stdout


def test_every_part_has_a_line_with_seconds_and_the_count_of_its_tests_and_the_tests_close_the_run(
    checkout: Path,
) -> None:
    done = parts(checkout, "run", "check")
    assert done.returncode == 0
    assert re.search(r"^ok      ready +\d+ s$", done.stdout, re.MULTILINE)
    assert re.search(r"^ok      test +\d+ s  7 passed in 0.10s$", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1] == "7 passed in 0.10s"


def test_nothing_runs_where_the_tools_could_not_be_installed(checkout: Path) -> None:
    (checkout / "Makefile").write_text("ready test broken:\n\t@exit 2\n")
    done = parts(checkout, "run", "check", "ci")
    assert done.returncode == 1
    assert "0 parts ok, 1 failed, 2 not run" in done.stdout


def test_verify_writes_a_row_for_each_part_and_names_what_was_not_run(checkout: Path) -> None:
    done = parts(checkout, "verify")
    assert done.returncode == 1
    assert "not run compose: no Docker." in done.stdout
    rows = json.loads((checkout / "build/verified.json").read_text())
    assert [(row["part"], row["result"]) for row in rows] == [("soak", "ok"), ("engines", "failed")]
    assert all(row.keys() == {"part", "commit", "result", "seconds", "date"} for row in rows)
    assert all(re.fullmatch("[0-9a-f]{40}", row["commit"]) for row in rows)


def test_a_part_that_runs_again_replaces_its_row_and_rows_of_another_commit_go(checkout: Path) -> None:
    parts(checkout, "verify")
    (checkout / "Makefile").write_text("test broken:\n\t@true\n")
    parts(checkout, "verify", "engines")
    rows = json.loads((checkout / "build/verified.json").read_text())
    assert [(row["part"], row["result"]) for row in rows] == [("engines", "ok")]
    assert rows[0]["commit"].endswith("+changes")


def test_a_part_that_changes_files_of_the_checkout_fails_because_later_parts_would_run_on_them(checkout: Path) -> None:
    (checkout / "Makefile").write_text(
        (checkout / "Makefile").read_text().replace("@echo 'the reason' && exit 3", "@echo >>.gitignore")
    )
    for command in (("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "b")):
        subprocess.run(["git", *command], cwd=checkout, check=True)
    done = parts(checkout, "verify", "engines")
    assert done.returncode == 1
    assert "changed files of the checkout:\n M .gitignore\n" in done.stdout
    (row,) = json.loads((checkout / "build/verified.json").read_text())
    assert (row["result"], re.fullmatch("[0-9a-f]{40}", row["commit"]) is None) == ("failed", False)


def test_a_part_that_is_none_is_refused_with_the_names_of_those_there_are(checkout: Path) -> None:
    done = parts(checkout, "verify", "engine")
    assert done.returncode == 2
    assert done.stderr == "no part of `verify` is called engine. There are: soak, engines\n"


@pytest.mark.parametrize("command", ["run", "names"])
def test_a_section_that_is_none_is_refused_with_the_names_of_those_there_are(checkout: Path, command: str) -> None:
    done = parts(checkout, command, "engines")
    assert done.returncode == 2
    assert done.stderr.startswith("no section is called engines. There are: ")


@pytest.mark.parametrize(
    ("results", "without", "said"),
    [
        ({"soak": "ok", "engines": "ok"}, (), []),
        ({"soak": "ok", "engines": "failed"}, (), ["engines: failed"]),
        ({"soak": "ok"}, (), ["engines: not run"]),
        ({"soak": "ok"}, ("engines",), []),
    ],
)
def test_a_commit_is_refused_for_parts_that_are_red_or_not_run_unless_they_are_named(
    checkout: Path, results: dict[str, str], without: tuple[str, ...], said: list[str]
) -> None:
    row: dict[str, object] = {"commit": HEAD, "seconds": 1, "date": "2026-11-28T12:00:00Z"}
    table = checkout / "verified.json"
    table.write_text(json.dumps([{**row, "part": part, "result": result} for part, result in results.items()]))
    done = parts(checkout, "judge", str(table), HEAD, *without)
    assert done.returncode == bool(said)
    assert done.stdout.splitlines() == (said or [f"every {'other part' if without else 'part'} is ok at {HEAD}"])
    assert parts(checkout, "judge", str(table), "b" * 40, *without).returncode == 1


@pytest.mark.parametrize("text", ["", "{bad", '{"part": "soak"}', '[{"part": "soak"}]', "[1]"])
def test_a_table_that_is_none_is_refused_by_its_name(checkout: Path, text: str) -> None:
    (checkout / "build").mkdir()
    table = checkout / "build/verified.json"
    table.write_text(text)
    for command in (("judge", str(table), HEAD), ("verify", "soak")):
        done = parts(checkout, *command)
        assert done.returncode == 2
        assert done.stderr == f"{table} is no table of parts. Remove it, and run the parts again\n"


def test_a_commit_without_a_table_has_run_no_part(checkout: Path) -> None:
    done = parts(checkout, "judge", "nowhere.json", HEAD)
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["soak: not run", "engines: not run"]


MAKEFILES = "".join((ROOT / name).read_text() for name in ("Makefile", "lab/Makefile"))


def recipes() -> dict[str, str]:
    """The recipe of each target, with the scripts that it starts."""
    found = {}
    for target, recipe in re.findall(r"^([a-z][a-z0-9-]*):.*\n((?:\t.*\n)*)", MAKEFILES, re.MULTILINE):
        scripts = [ROOT / name for name in re.findall(r"\b(?:tools|lab)/[\w/-]+", recipe)]
        found[target] = recipe + "".join(path.read_text() for path in scripts if path.is_file())
    return found


def targets(sections: tuple[str, ...] = RUN_IN) -> set[str]:
    words = [word for section in sections for text in LISTED[section].values() for word in text.split()]
    return {word for word in words if re.fullmatch(r"[a-z][a-z0-9-]*", word)}


def test_every_part_is_a_target() -> None:
    assert targets() - recipes().keys() == set()


def test_every_target_is_a_part_or_judges_nothing() -> None:
    helped = set(re.findall(r"^([a-z-]+):.* ## ", MAKEFILES, re.MULTILINE))
    judging_nothing = {name for names in LISTED["no-part"].values() for name in names}
    assert helped - targets() - judging_nothing == set()
    assert judging_nothing - helped == set()


def test_every_file_of_long_tests_is_run_by_a_part() -> None:
    run = "".join(text for target, text in recipes().items() if target in targets())
    files = {str(path.relative_to(ROOT)) for room in ("tests", "lab") for path in (ROOT / room).rglob("with_*.py")}
    assert files
    assert {file for file in files if file not in run} == set()


def calls_of_ensure_tools() -> list[set[str]]:
    """The commands of each call, in both Makefiles and in the scripts."""
    scripts = (path.read_text() for path in (ROOT / "tools").glob("*/*") if path.is_file() and not path.suffix)
    text = "\n".join([MAKEFILES, *scripts])
    return [set(words.split()) for words in re.findall(r"tools/ensure-tools ((?:[a-z0-9_-]+ ?)+)", text)]


def test_every_command_that_is_asked_for_has_a_package_to_install() -> None:
    asked = sorted(set().union(*calls_of_ensure_tools()))
    script = (ROOT / "tools/ensure-tools").read_text()
    packages = script.partition("\npackage_of")[2].partition("\n}\n")[0]
    text = f'package_of{packages}\n}}\nfor name in "$@"; do package_of "$name" | grep -q . || echo "$name"; done'
    done = subprocess.run(["bash", "-c", text, "bash", *asked], capture_output=True, text=True, check=True)
    assert "buildah" in asked
    assert done.stdout == ""


def test_debootstrap_has_the_keys_of_debian_on_other_distributions_too() -> None:
    """Without them it warns, and installs what no signature stands for."""
    assert [
        call for call in calls_of_ensure_tools() if "debootstrap" in call and "debian-archive-keyring" not in call
    ] == []


def test_no_part_stands_twice_in_the_list() -> None:
    names = [name for section in RUN_IN for name in LISTED[section]]
    assert len(names) == len(set(names))


def workflow(name: str) -> str:
    text = (ROOT / ".github/workflows" / name).read_text()
    assert yaml.safe_load(text)["jobs"]
    return text


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in yaml.safe_load(workflow(name))["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", ["check.yml", "long.yml", "release.yml"])
def test_a_job_that_runs_again_replaces_its_artefact(name: str) -> None:
    """Otherwise the upload fails, and the table keeps a part red that was mended by a second run."""
    uploads = [step["with"] for step in steps(name) if "/upload-artifact@" in step.get("uses", "")]
    assert [upload["name"] for upload in uploads if upload.get("overwrite") is not True] == []


def test_a_release_fails_where_a_check_cannot_be_made() -> None:
    """Only in CI a missing tool of `make check` is a failure, and sudo hides the variable that says so."""
    (check,) = [step["run"] for step in steps("release.yml") if step.get("run", "").endswith("make check")]
    assert check == "sudo --preserve-env=PATH,CI make check"


def test_the_workflows_take_their_parts_from_the_list() -> None:
    assert ".ci/run" in workflow("check.yml")
    assert "tools/check/parts.py names verify" in workflow("long.yml")
    assert "tools/check/parts.py judge" in workflow("release.yml")
