"""docs/README.md leads to every page, and every page says who it is for."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md")) + sorted(DOCS.glob("*/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_begins_with_its_readers(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if line and not line.startswith(("#", "<!--"))]
    assert lines[0].startswith("For "), page


def test_the_first_page_leads_to_every_page() -> None:
    entrance = (DOCS / "README.md").read_text("utf-8")
    folders = {page.parent.name for page in PAGES if page.parent != DOCS}
    expected = {page.name for page in PAGES if page.parent == DOCS} - {"README.md"} | folders
    assert {name for name in expected if f"]({name})" not in entrance} == set()
