"""The documents that the exporter serves: what an alert links to opens, and every link of every page leads somewhere."""

import re
from pathlib import Path

import pytest
from tests.fss_exporter.web.pages import page_of

from fss_exporter.web.documents import Documents, anchor
from fss_exporter.web.messages import Request
from fss_exporter.web.status.html import render

ROOT = Path(__file__).parents[3]
SHIPPED = Documents()


def page(documents: Documents, path: str) -> str:
    response = documents.response(Request("GET", path, "", {}))
    assert response.status == 200
    return response.body.decode()


def written(folder: Path, **pages: str) -> Documents:
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text)
    return Documents(folder)


def test_every_link_to_the_runbook_in_rules_and_alarms_has_its_section_on_the_page() -> None:
    sections = set(re.findall(r'<h\d id="([^"]+)"', page(SHIPPED, "/runbook")))
    shipped = [path.read_text() for folder in ("rules", "mql") for path in (ROOT / folder).rglob("*.*")]
    linked = {link for text in shipped for link in re.findall(r"docs/runbook\.md#([\w-]+)", text)}

    assert len(linked) > 20
    assert linked - sections == set()


def test_a_gap_of_the_monitoring_on_the_status_page_leads_to_its_section() -> None:
    html = render(page_of(("fss_nfs_unresolved_forwarder_addresses", {}, 1.0)))
    (section,) = re.findall(r'misses something.*?href="/runbook#([\w-]+)"', html)

    assert f'id="{section}"' in page(SHIPPED, "/runbook")


def test_the_section_of_an_alert_has_an_anchor_with_the_name_as_it_is_for_links_of_dashboards() -> None:
    assert '<span id="FssMountTargetIopsHigh"></span>' in page(SHIPPED, "/runbook")


@pytest.mark.parametrize("path", sorted(SHIPPED.paths))
def test_every_link_of_a_page_leads_to_a_place_that_the_exporter_serves_or_to_the_internet(path: str) -> None:
    html = page(SHIPPED, path)
    links = [link.replace("&amp;", "&") for link in re.findall(r'<a href="([^"]*)"', html)]
    own = [link for link in links if not link.startswith(("http://", "https://"))]

    assert own
    for link in own:
        target, _, section = link.partition("#")
        assert (target or path) in SHIPPED.paths | {"/"}, link
        assert not section or f' id="{section}"' in page(SHIPPED, target or path), link


def test_a_link_to_a_file_that_the_exporter_does_not_serve_becomes_text(tmp_path: Path) -> None:
    documents = written(
        tmp_path, page="see [the code](../exporter/x.py) and [the runbook](runbook.md#x)", runbook="# R\n## X"
    )

    html = page(documents, "/docs/page.md")
    assert "<span>the code</span>" in html
    assert '<a href="/docs/runbook.md#x">the runbook</a>' in html


def test_a_folder_without_a_runbook_has_no_such_path(tmp_path: Path) -> None:
    assert written(tmp_path, page="# P").paths == {"/docs/page.md"}


def test_tables_code_and_the_title_are_there(tmp_path: Path) -> None:
    text = '# How *fast*\n\n| a | b |\n|---|---|\n| 1 | `<2>` |\n\n```promql\nx{a="b"} < 1\n```\n'

    html = page(written(tmp_path, page=text), "/docs/page.md")
    assert "<td>1</td>" in html
    assert "<code>&lt;2&gt;</code>" in html
    assert "x{a=&quot;b&quot;} &lt; 1" in html
    assert "<title>How *fast* - fss-exporter " in html


def test_anchors_are_named_as_on_github() -> None:
    assert anchor("Do now!") == "do-now"
    assert anchor("systemd: the `agent`") == "systemd-the-agent"
