"""`fss-exporter assets`: what a pip user loads into Prometheus, Grafana and OCI."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path, PurePosixPath

import pytest
from click.testing import CliRunner
from tests.processes import require
from tests.prompt import ask

from fss_exporter.errors import UsageError
from fss_toolbox.cli.assets import LinkBases, assets, shipped, write

ROOT = Path(__file__).parents[3]


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("name", "folder"),
    [("rules", "rules"), ("dashboards", "dashboards"), ("mql", "mql"), ("systemd", "deploy/systemd")],
)
def test_a_folder_is_written_as_it_stands_in_the_repository(tmp_path: Path, name: str, folder: str) -> None:
    write(tmp_path)
    written, source = files_below(tmp_path / name), files_below(ROOT / folder)
    links = re.compile(rb"(?m)^ +(runbook|dashboard)_url: .*\n")
    for path, content in source.items():
        assert path.endswith(".md") or written[path] == links.sub(b"", content), path
    assert written.keys() == source.keys() != set()


def test_every_link_of_a_written_page_leads_to_a_written_file(tmp_path: Path) -> None:
    write(tmp_path)
    pages = tmp_path.rglob("*.md")
    links = [(page, link) for page in pages for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())]

    assert len(links) > 50
    assert [(str(page), link) for page, link in links if not (page.parent / link).is_file()] == []


def test_every_link_of_rules_dashboards_and_alarms_opens_on_an_exporter_or_in_grafana(tmp_path: Path) -> None:
    write(tmp_path, LinkBases("https://poller.example/runbook", "https://grafana.example"))
    served = (resources.files("fss_exporter") / "web/templates/runbook.html").read_text()
    dashboards = {json.loads(path.read_text())["uid"] for path in (tmp_path / "dashboards").glob("*.json")}
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.suffix in {".yml", ".json"}]
    sections = {
        link for text in texts for link in re.findall(r"runbook_url: https://poller\.example/runbook#([\w-]+)", text)
    }
    opened = {uid for text in texts for uid in re.findall(r"dashboard_url: https://grafana\.example/d/([\w-]+)", text)}

    assert not [text for text in texts if re.search(r"docs/\w+\.md#", text)]
    assert {section for section in sections if f'id="{section}"' not in served} == set() != sections
    assert set() != opened <= dashboards


def test_the_documents_come_along(tmp_path: Path) -> None:
    write(tmp_path)
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {f"docs/{name}" for name in files_below(tmp_path / "docs")} == pages != set()


def test_a_clone_without_symbolic_links_says_so_in_place_of_writing_less(tmp_path: Path) -> None:
    toolbox = shutil.copytree(ROOT / "toolbox", tmp_path / "toolbox", symlinks=True)
    for link in [path for path in toolbox.rglob("*") if path.is_symlink()]:
        target = str(link.readlink())
        link.unlink()
        link.write_text(target)  # as git writes it there

    said = subprocess.run(
        [sys.executable, "-m", "fss_exporter", "assets", str(tmp_path / "pack")],
        env={**os.environ, "PYTHONPATH": f"{toolbox}:{ROOT / 'exporter'}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (said.returncode, said.stdout) == (1, "")
    assert "fss_toolbox/documents: a file, and not the folder with the shipped files" in said.stderr
    assert not (tmp_path / "pack").exists()


def test_the_example_configuration_comes_along(tmp_path: Path) -> None:
    write(tmp_path)
    assert (tmp_path / "fss-exporter.example.yml").read_bytes() == (
        ROOT / "deploy/fss-exporter.example.yml"
    ).read_bytes()


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    assert write(tmp_path) == len(shipped())
    assert write(tmp_path) == 0


def test_an_edited_file_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    edited = tmp_path / "rules" / "load.yml"
    edited.parent.mkdir()
    edited.write_text("mine")
    with pytest.raises(UsageError, match=r"(?s)--overwrite.*rules/load\.yml"):
        write(tmp_path)
    assert files_below(tmp_path) == {"rules/load.yml": b"mine"}


def test_overwrite_replaces_an_edited_file(tmp_path: Path) -> None:
    edited = tmp_path / "rules" / "load.yml"
    edited.parent.mkdir()
    edited.write_text("mine")
    write(tmp_path, overwrite=True)
    assert edited.read_bytes() == shipped()[PurePosixPath("rules/load.yml")]


def test_a_link_stays_a_link_and_the_file_that_it_leads_to_is_written(tmp_path: Path) -> None:
    path, kept = tmp_path / "pack" / "rules" / "load.yml", tmp_path / "kept" / "load.yml"
    path.parent.mkdir(parents=True)
    kept.parent.mkdir()
    kept.write_text("mine")
    path.symlink_to("../../kept/load.yml")
    write(tmp_path / "pack", overwrite=True)
    assert path.is_symlink()
    assert kept.read_bytes() == shipped()[PurePosixPath("rules/load.yml")]
    assert [entry.name for entry in kept.parent.iterdir()] == ["load.yml"]


def test_files_of_the_user_in_the_same_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.yml").write_text("mine")
    write(tmp_path)
    assert (tmp_path / "rules" / "own.yml").read_text() == "mine"


def test_a_file_in_place_of_a_folder_is_a_clear_refusal(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("not a folder")
    with pytest.raises(UsageError, match=r"a file has the name of a needed folder: .*/rules$"):
        write(tmp_path, overwrite=True)
    assert files_below(tmp_path) == {"rules": b"not a folder"}


def test_a_folder_that_cannot_be_written_is_a_clear_refusal() -> None:
    with pytest.raises(UsageError, match=r"/proc/pack\S*: cannot be written: "):
        write(Path("/proc/pack"))


def test_a_full_disk_names_the_file_leaves_none_and_is_no_mistake_of_the_operator(tmp_path: Path) -> None:
    small = require("prlimit", "util-linux"), "--fsize=1000"
    command = [*small, require("fss-exporter", "this project")]
    for arguments in (["assets", f"{tmp_path}/a"], ["alarms", "render", f"--out={tmp_path}/b"]):
        done = subprocess.run([*command, *arguments], check=False, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1
        assert re.fullmatch(rf"fss-exporter: {tmp_path}/\S+: cannot be written: File too large\n", done.stderr)
    assert files_below(tmp_path) == {}


def test_a_folder_in_the_place_of_a_file_is_named_and_leaves_the_other_files_as_they_were(tmp_path: Path) -> None:
    path = max(shipped())
    (tmp_path / path).mkdir(parents=True)
    answer = ask("assets", str(tmp_path), "--overwrite")
    assert (answer.code, answer.out) == (2, "")
    assert f"{tmp_path / path}: cannot be written: Is a directory" in answer.err
    assert files_below(tmp_path) == {}


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    result = CliRunner().invoke(assets, [str(tmp_path / "pack")])
    assert result.exit_code == 0
    assert f"{tmp_path / 'pack' / 'rules'}: " in result.output
    assert f"{len(shipped())} written, 0 already up to date" in result.output


@pytest.mark.parametrize(
    "url",
    [
        'https://wiki/"',
        "https://wiki/a b",
        "https://wiki/{{ x }}",
        "a\nb",
        "",
        "ftp://wiki/fss",
        "wiki/fss",
        "https://",
    ],
)
def test_a_runbook_url_that_would_break_a_file_or_opens_nowhere_is_refused(tmp_path: Path, url: str) -> None:
    result = CliRunner().invoke(assets, [str(tmp_path), "--runbook-url", url])

    assert result.exit_code == 2
    assert "give a URL that begins with http:// or https://, without spaces, quotes and braces" in result.output
    assert files_below(tmp_path) == {}


def test_an_empty_folder_name_is_refused_and_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(assets, [""])

    assert result.exit_code == 2
    assert "the path is empty" in result.output
    assert files_below(tmp_path) == {}


def test_without_a_base_an_alert_has_no_link_and_the_command_says_how_to_give_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(assets, [str(tmp_path)])

    assert "alerts have no link to a runbook: give --runbook-url" in result.output
    assert "alerts have no link to a dashboard: give --grafana-url" in result.output
    assert "_url:" not in "".join(path.read_text() for path in (tmp_path / "rules").glob("*.yml"))


def test_a_slash_at_the_end_of_a_base_is_not_doubled(tmp_path: Path) -> None:
    CliRunner().invoke(assets, [str(tmp_path), "--grafana-url", "https://grafana.example.com/"])
    assert "dashboard_url: https://grafana.example.com/d/fss-fleet" in (tmp_path / "rules/load.yml").read_text()


@pytest.mark.parametrize("more", [(), ("--published",)])
def test_an_alarm_has_the_link_that_render_gives_it(tmp_path: Path, more: tuple[str, ...]) -> None:
    base = "https://poller.example.com:10949/runbook"
    write(tmp_path, LinkBases(base))
    rendered = ask("alarms", "render", "--runbook-url", base, *more).document

    for alarm in rendered:
        written = json.loads((tmp_path / "mql/alarms" / f"{alarm['displayName']}.json").read_text())
        texts = [rule["body"] for rule in (alarm, *alarm["overrides"])]
        assert all(f" Next step: {base}#" in text for text in texts)
        assert [rule["body"] for rule in (written, *written["overrides"])] == texts


def test_dashboards_link_to_the_chosen_exporter_or_to_the_given_base(tmp_path: Path) -> None:
    link = "runbook#${__data.fields.alertname}"
    write(tmp_path / "own")
    write(tmp_path / "given", LinkBases("https://wiki.example.com/runbook"))

    assert f"http://${{runbook}}/{link}" in (tmp_path / "own/dashboards/fleet.json").read_text()
    given = (tmp_path / "given/dashboards/fleet.json").read_text()
    assert f"https://wiki.example.com/{link}" in given
    assert "http://${runbook}" not in given
