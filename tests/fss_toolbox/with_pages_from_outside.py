"""A page of metrics from outside can have any figure. One that is not finite is unknown, and no view prints it."""

import re
from collections.abc import Iterator
from itertools import cycle

import pytest
from tests.fss_exporter.web.pages import Row, fresh, judged, last_known, mount_target
from tests.fss_toolbox.doctor.test_running_exporter import ceilings
from tests.fss_toolbox.test_states_everywhere import text
from tests.fss_toolbox.top.test_top_sources import JUDGE
from tools.generate.golden import GOLDEN

from fss_exporter.errors import SourceError
from fss_exporter.model.state import IOPS, State
from fss_toolbox.doctor.running_exporter import check_running
from fss_toolbox.iostat.page_reports import report_between
from fss_toolbox.iostat.report_output import document
from fss_toolbox.iostat.traffic_report import ReportOrder
from fss_toolbox.scrape_text import read_scrape
from fss_toolbox.tables import as_json
from fss_toolbox.top.page_source import PageSource
from fss_toolbox.top.picture import shown_target
from fss_toolbox.top.refresher import Latest
from fss_toolbox.top.top_table import headline, targets_table
from fss_toolbox.top.top_view import View

_PLACE = {"tenancy": "acme", "region": "eu-frankfurt-1"}
_POLLED: list[Row] = [
    *mount_target(iops=900, iops_limit=50_000, connections=3, connections_limit=100_000),
    *judged("mt-home", State.NEAR, 60.0, (IOPS, "", 0.9)),
    *last_known("mt-home", 900.0, iops=0.5),
    *fresh(),
    ("fss_oci_poll_success", _PLACE, 0),
    ("fss_oci_warning_ratio", _PLACE, 0.8),
    ("fss_oci_inventory_calls", {"region": "eu-frankfurt-1"}, 7),
    ("fss_collector_success", {"collector": "oci"}, 1),
    ("fss_collector_last_success_timestamp_seconds", {"collector": "oci"}, 1.8e9),
    ("fss_coverage_expected", {**_PLACE, "part": "regions"}, 2),
    ("fss_coverage_seen", {**_PLACE, "part": "regions"}, 1),
]
_PAGE = GOLDEN.read_text("utf-8") + text(_POLLED) + ceilings("mt-a", 7.5e8, 1e9)
_NAMES = sorted({re.split(r"[{ ]", line)[0] for line in _PAGE.splitlines() if not line.startswith("#")})
_FIGURES = (("NaN", "1e300"), ("+Inf", "-1e300"), ("-Inf", "1e300"))


def damaged() -> Iterator[tuple[str, str, str]]:
    """The page with another figure in each sample of a name: name, figure and page. The figures take turns."""
    for name, figures in zip(_NAMES, cycle(_FIGURES), strict=False):
        for figure in figures:
            sample = rf"(?m)^({re.escape(name)}(?:\{{.*\}})?) \S+$"
            yield name, figure, re.sub(sample, rf"\1 {figure}", _PAGE)


def wrong(printed: str) -> list[str]:
    return re.findall(r"(?i).{0,30}\b(?:nan|-?inf|infinity)\b.{0,10}", printed)


def test_doctor_prints_no_figure_that_is_not_finite_and_says_how_many_a_page_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, figure, page in damaged():
        monkeypatch.setattr("fss_toolbox.doctor.running_exporter.get", lambda *_, page=page: page)
        said = "\n".join(finding.message for finding in check_running("http://127.0.0.1:1/metrics"))
        assert not wrong(said), (name, figure, said)
        if name.startswith(("fss_client", "fss_collector", "fss_oci")):  # doctor reads no others of a poller
            assert ("no finite numbers" in said) == (figure in ("NaN", "+Inf", "-Inf")), (name, figure)


def printed(page: str) -> tuple[str, ...]:
    """What `top` and `iostat` print of a page."""
    clock = iter((0.0, 10.0))
    source = PageSource(lambda: page, "a page", JUDGE, 10.0, clock.__next__)
    source.read()
    picture, scrape = source.read(), read_scrape("a page", page)
    rows = list(map(shown_target, picture.targets))
    report = document(report_between("a page", scrape, scrape, 10.0), JUDGE, ReportOrder("mount", "iops", None))
    table = targets_table(rows, View(), 200).rows
    return str(table), str(headline("a page", Latest(picture), rows, View())), as_json(report)


def test_top_and_iostat_print_no_figure_that_is_not_finite_and_refuse_a_damaged_counter() -> None:
    refused = {}
    for name, figure, page in damaged():
        try:
            assert not [text for part in printed(page) for text in wrong(part)], (name, figure)
        except SourceError as error:
            refused[name] = str(error)
    assert "fss_client_operations_total" in refused
    assert all(name.endswith(("_total", "_bucket", "_sum")) and name in said for name, said in refused.items())
