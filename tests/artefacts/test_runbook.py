"""The runbook, held to the rules in both directions."""

import re

from tests.for_each import for_each
from tests.rules.pack import ROOT, RULES, rules_of

ALERTS = {rule.name: rule for path in sorted(RULES.glob("*.yml")) for rule in rules_of(path) if rule.is_alert}
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
HEADINGS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL))


def test_every_alert_has_a_heading_and_every_heading_an_alert() -> None:
    assert HEADINGS.keys() == ALERTS.keys()


@for_each("heading", HEADINGS)
def test_a_heading_says_how_to_confirm_and_what_to_do_and_may_say_how_to_prevent(heading: str) -> None:
    meaning, *parts = re.split(r"^\*\*([\w ]+)\.\*\*", HEADINGS[heading], flags=re.MULTILINE)

    assert parts[::2] in (["Confirm", "Do now"], ["Confirm", "Do now", "Prevent"])
    assert all(text.strip().endswith((".", "?", "```")) for text in (meaning, *parts[1::2]))


@for_each("heading", HEADINGS)
def test_a_section_begins_with_one_sentence_and_has_something_to_paste(heading: str) -> None:
    meaning = HEADINGS[heading].split("**Confirm.**")[0].strip()

    assert len(re.findall(r"[.?](?: |$)", meaning)) <= 2, meaning
    assert re.search(r"```|`[^`]+`", HEADINGS[heading]), heading


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
    assert "fss_collector_last_success_timestamp_seconds" in HEADINGS["FssCollectorStalled"]


def test_no_query_hides_one_half_behind_the_other() -> None:
    """`or` keeps the left side where both sides have equal labels: rates of two metrics, or one metric at two times."""
    halves = re.findall(r"(\S+?)(\{[^}]*\})\S* or (\S+?)(\{[^}]*\})", RUNBOOK)

    assert [half for half in halves if half[1] == half[3] and (half[0] == half[2] or "rate(" in half[0])] == []
