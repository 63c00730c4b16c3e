"""What `iostat` says of an address that hangs, fails or is slow."""

import io

from rich.console import Console

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.service_table import OCI_FSS, SeriesKey
from fss_exporter.model.state import WAIT, Evidence, State, StateNow
from fss_exporter.model.traffic import Traffic
from fss_toolbox.ceilings import judge
from fss_toolbox.iostat.report_output import document, show
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
    assert "10.0.0.2 is hanging for 57 s: no reply for 57 s (docs/runbook.md#fssmounttargetdown)" in lines
    assert not any("10.0.0.1 is" in line for line in lines)


def test_the_document_has_the_state_of_each_address() -> None:
    states = {
        target["address"]: target["state"]["state"]
        for target in document(REPORT, judge("standard", None), ORDER)["mount_targets"]
    }
    assert states == {"10.0.0.1": "fine", "10.0.0.2": "hanging"}
