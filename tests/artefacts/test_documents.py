"""docs/README.md leads to every page, and the pages name only what exists."""

import re
from pathlib import Path

import promql_parser
import pytest
from tests.rules.pack import RULES, rules_of

from fss_exporter.catalogue import CATALOGUE

DOCS = Path(__file__).parents[2] / "docs"
ROOT = DOCS.parent
PAGES = sorted(DOCS.glob("*.md")) + sorted(DOCS.glob("*/*.md"))


def test_the_first_page_leads_to_every_page() -> None:
    entrance = (DOCS / "README.md").read_text("utf-8")
    folders = {page.parent.name for page in PAGES if page.parent != DOCS}
    expected = {page.name for page in PAGES if page.parent == DOCS} - {"README.md"} | folders
    assert {name for name in expected if f"]({name})" not in entrance} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_query_parses_and_every_metric_in_code_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    if page.name != "runbook.md":  # whose blocks have several queries
        for query in re.findall(r"```promql\n(.*?)```", text, re.DOTALL):
            promql_parser.parse(query)
    families = {
        name.removesuffix(end) for name in CATALOGUE for end in ("_bucket", "_count", "_sum", "_total", "_info", "")
    }
    named = re.findall(r"`(fss_(?:client|mount_target|file_system|oci|nfs|collector)_\w+)", text)
    assert {name for name in named if name.removesuffix("_") == name} - families - CATALOGUE.keys() == set()


TEXTS = [ROOT / "README.md", *PAGES, *sorted((ROOT / "deploy").rglob("*.md"))]
TEXTS += [ROOT / folder / "README.md" for folder in ("dashboards", "mql", "rules")]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_recorded_series_and_alert_named_is_one_of_the_rules(page: Path) -> None:
    names = {rule.name for path in RULES.glob("*.yml") for rule in rules_of(path)}
    text = page.read_text("utf-8")
    recorded = set(re.findall(r"\b[a-z_]+:(?:fss|slo)_[a-z0-9_]+:[a-z0-9_]+|\bslo:[a-z0-9_]+:[a-z0-9_]+", text))
    alerts = set(re.findall(r"\bFss(?:[A-Z][a-z]+){2,}\b(?!\(|\.[+*])", text))

    assert recorded | alerts <= names, sorted((recorded | alerts) - names)
