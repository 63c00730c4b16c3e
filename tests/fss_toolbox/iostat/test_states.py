"""What `iostat` says of an address that hangs, fails or is slow."""

import io
from dataclasses import replace

from rich.console import Console

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.service_table import OCI_FSS, SeriesKey
from fss_exporter.model.state import WAIT, Evidence, State, StateNow
from fss_exporter.model.traffic import Traffic
from fss_toolbox.ceilings import judge
from fss_toolbox.fetch import runbook_at
from fss_toolbox.iostat.report_output import show
from fss_toolbox.iostat.traffic_report import Report, ReportOrder

BUSY = SeriesKey("10.0.0.1", "a", "/a", OCI_FSS.name)
HUNG = SeriesKey("10.0.0.2", "b", "/b", OCI_FSS.name)
ORDER = ReportOrder("mount", "iops", None)
NO_REPLY = Evidence(WAIT, KnownFigure(57.0, FigureSource.HOST))
REPORT = Report(
    "this host",
    {BUSY: Traffic(read_bytes=9e8), HUNG: Traffic()},
    {},
    states={
        BUSY.address: StateNow(State.FINE, 60.0),
        HUNG.address: StateNow(State.HANGING, 57.0, (NO_REPLY,)),
    },
)


def test_a_hanging_address_comes_first_and_a_sentence_says_why_and_where_to_read_on() -> None:
    out = io.StringIO()
    show(Console(file=out, width=200), REPORT, judge("standard", None), ORDER)
    lines = out.getvalue().splitlines()

    assert lines.index(next(line for line in lines if line.startswith("10.0.0.2"))) < lines.index(
        next(line for line in lines if line.startswith("10.0.0.1"))
    )
    assert "10.0.0.2 is hanging: no reply for 57 s (docs/runbook.md#fssmounttargetdown)" in lines
    assert not any("10.0.0.1 is" in line for line in lines)


def test_a_sentence_about_an_exporter_that_was_asked_links_to_the_runbook_there() -> None:
    out = io.StringIO()
    at = runbook_at("http://host:10949/metrics")
    show(Console(file=out, width=200), REPORT, judge("standard", None), ORDER, at)

    assert "no reply for 57 s (http://host:10949/runbook#fssmounttargetdown)" in out.getvalue()


def test_requests_that_may_wait_since_before_the_command_are_told_as_such() -> None:
    out = io.StringIO()
    unknown = StateNow(State.NOT_KNOWN, 5.0, (Evidence(WAIT, None),))
    show(Console(file=out, width=200), replace(REPORT, states={HUNG.address: unknown}), judge("standard", None), ORDER)

    said = "10.0.0.2 is not known: requests may wait, none answered (docs/runbook.md#fssmounttargetdown)"
    assert said in out.getvalue().splitlines()
