"""The runbook, held to the rules in both directions."""

import re

from tests.rules.pack import ROOT, RULES, rules_of
from tools.generate.runbook_page import PAGE, page

ALERTS = {rule.name: rule for path in sorted(RULES.glob("*.yml")) for rule in rules_of(path) if rule.is_alert}
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
HEADINGS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL))


def test_every_alert_has_a_heading_and_every_heading_an_alert() -> None:
    assert HEADINGS.keys() == ALERTS.keys()


def test_a_heading_says_how_to_confirm_and_what_to_do_and_may_say_how_to_prevent() -> None:
    for heading, section in HEADINGS.items():
        meaning, *parts = re.split(r"^\*\*([\w ]+)\.\*\*", section, flags=re.MULTILINE)

        assert parts[::2] in (["Confirm", "Do now"], ["Confirm", "Do now", "Prevent"]), heading
        assert all(text.strip().endswith((".", "?", "```")) for text in (meaning, *parts[1::2])), heading


def test_the_alerts_the_runbook_speaks_of_exist() -> None:
    assert set(re.findall(r"\bFss[A-Z]\w+", RUNBOOK)) <= ALERTS.keys()


def test_a_command_that_counts_by_process_has_the_interval_it_needs() -> None:
    shown = re.findall(r"`fss-exporter iostat ([^`]*--by (?:process|pod|unit)[^`]*)`", RUNBOOK)

    assert shown
    assert [command for command in shown if not re.search(r"(?:^| )\d+(?: |$)", command)] == []


def test_a_query_finds_the_exporters_whatever_their_job_is_called() -> None:
    assert re.findall(r'job="[^"]*"', RUNBOOK) == []
    assert "and on (job) last_over_time(job:fss_exporters:count[1d])" in HEADINGS["FssExporterDown"]


def test_a_query_names_the_exporters_of_a_job_that_is_gone_and_loops_that_stand_still() -> None:
    assert re.findall(r"and on \(job\) job:fss_exporters:count", RUNBOOK) == []
    assert "fss_collector_last_success_timestamp_seconds" in HEADINGS["FssCollectorFailing"]


def test_no_query_hides_one_half_behind_the_other() -> None:
    """`or` keeps the left side where both sides have equal labels: rates of two metrics, or one metric at two times."""
    halves = re.findall(r"(\S+?)(\{[^}]*\})\S* or (\S+?)(\{[^}]*\})", RUNBOOK)

    assert [half for half in halves if half[1] == half[3] and (half[0] == half[2] or "rate(" in half[0])] == []


def test_the_page_that_an_exporter_serves_is_that_of_the_runbook() -> None:
    assert PAGE.read_text() == page(RUNBOOK), "run: make runbook"


def test_every_link_to_the_runbook_in_rules_alarms_and_the_status_page_has_its_section_on_the_page() -> None:
    sections = set(re.findall(r'<h\d id="([^"]+)"', PAGE.read_text()))
    shipped = [path.read_text() for folder in ("rules", "mql") for path in (ROOT / folder).rglob("*.*")]
    shipped.append((PAGE.parent / "status.html").read_text())
    linked = {link for text in shipped for link in re.findall(r"(?:docs/runbook\.md|/runbook)#([\w-]+)", text)}

    assert "fsscoverageincomplete" in linked
    assert linked - sections == set()


def test_a_link_on_the_page_leads_to_a_section_of_it_to_the_status_or_to_the_internet() -> None:
    links = [link for link in re.findall(r'<a href="([^"]*)"', PAGE.read_text()) if not re.match("https?://", link)]

    assert "/" in links
    assert [link for link in links if link != "/" and f' id="{link[1:]}"' not in PAGE.read_text()] == []


def test_a_page_has_anchors_for_both_spellings_of_an_alert_and_no_text_becomes_markup() -> None:
    html = page(
        "# How\n\n## FssDown\n\n| a | b |\n|---|---|\n| 1 | `<2>` |\n\n[the file](a.md) and [the alert](#fssdown)\n"
    )

    assert '<h2 id="fssdown"><span id="FssDown"></span>FssDown</h2>' in html
    assert "<td><code>&lt;2&gt;</code></td>" in html
    assert '<span>the file</span> and <a href="#fssdown">the alert</a>' in html
