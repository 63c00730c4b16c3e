"""The README promises nothing the code does not keep."""

import re
import tomllib
from pathlib import Path

import promql_parser
import pytest
import yaml
from tests.recordings import is_frozen, load_unseen
from tools.check.accuracy import mean_error, measure
from tools.generate.command_pages import output

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.cli.serve import ServeFlags
from fss_exporter.settings import load

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("[rdm]*/README.md")))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub names them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_relative_link_leads_somewhere() -> None:
    for page in PAGES:
        links = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)", page.read_text())
        places = [((page.parent / link) if link else page, anchor) for link, anchor in links]

        assert [place for place, _ in places if not place.exists()] == [], page
        assert [(place, anchor) for place, anchor in places if anchor and anchor not in anchors(place)] == [], page


def test_every_make_target_shown_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"^make ([a-z-]+)", "\n".join(blocks("console")), re.MULTILINE)) <= targets


def test_every_line_of_output_is_a_series_of_the_catalogue() -> None:
    shown = re.findall(r"^(fss_\w+)\{(.*)\} [\d.]+$", README, re.MULTILINE)

    assert len(shown) >= 4
    for name, labels in shown:
        assert tuple(re.findall(r'(\w+)="', labels)) == tuple(sorted(CATALOGUE[name].labels)), name


def test_the_table_of_operations_is_what_the_command_above_it_prints() -> None:
    (command, printed), *_ = re.findall(
        r"```console\n\.venv/bin/(fss-exporter iostat .*?)```\n\n```text\n(.*?)```", README, re.DOTALL
    )

    assert printed == output(command.replace("\\\n", " "), "")


def test_the_lines_of_output_are_what_the_command_above_them_finds() -> None:
    (pattern,) = re.findall(r"grep '(.*)'", README)
    shown = re.findall(r"^fss_\w+\{.*$", README, re.MULTILINE)

    assert [line for line in shown if not re.search(pattern, line)] == []


@pytest.mark.parametrize("query", blocks("promql"))
def test_every_query_parses(query: str) -> None:
    promql_parser.parse(query)


def test_the_configuration_shown_is_accepted(tmp_path: Path) -> None:
    rules, configuration = blocks("yaml")
    path = tmp_path / "fss-exporter.yml"
    path.write_text(configuration)

    written = [ROOT / name.removeprefix("/etc/fss-exporter/pack/") for name in yaml.safe_load(rules)["rule_files"]]
    assert [path for path in written if not path.is_file()] == []
    assert load(path).latency_objectives
    assert yaml.safe_load(configuration)["limits"]["mount_targets"]["mt-home"] == {"iops": 80000}


def test_port_python_and_licence_are_the_codes_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert ServeFlags().listen_addresses == (":10949",)
    assert "Agent and poller listen on port 10949" in README
    assert f"Needs Python {project['requires-python'].removeprefix('>=')} or later" in README
    assert project["license"] in README


def test_the_figures_of_accuracy_are_those_of_the_drawn_workloads_and_the_rule_is_still_the_frozen_one() -> None:
    rows = [measure(recording) for recording in load_unseen()]
    worst = max(abs(row.error) for row in rows)
    text = " ".join(README.split())

    assert is_frozen(), "the rule has seen these recordings now: README and fixtures/unseen-6.12.md must say so"
    assert f"{len(rows)} workloads were drawn by chance and recorded after the rule had been frozen" in text
    assert f"the estimate is {100 * mean_error(rows):.1f} % off in the mean and {100 * worst:.1f} % at worst" in text


@pytest.mark.parametrize("page", ["README.md", "docs/install.md", "docs/start/node-exporter.md"])
def test_the_rule_files_that_a_page_lists_record_what_the_dashboards_read(page: str) -> None:
    read = set(re.findall(r"\w+:\w+:\w+", "".join(path.read_text() for path in (ROOT / "dashboards").glob("*.json"))))
    needed = set()
    for path in (ROOT / "rules").glob("*.yml"):
        recorded = set(re.findall(r"- record: (\S+)", path.read_text()))
        if path.name not in {"node_exporter.yml", "kubernetes.yml"} and recorded & read:
            needed.add(path.name)
    assert "panels.yml" in needed
    listed = set(re.findall(r"\brules/(\w+\.yml)", (ROOT / page).read_text()))
    assert needed - listed == set()
