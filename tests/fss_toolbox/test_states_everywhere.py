"""Every view says the same word for a state: a table of states against places, from one page of metrics."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.clock import Clock
from tests.fss_exporter.nfs.records import mountinfo, write_procfs
from tests.fss_exporter.web.pages import Row, families, judged, mount, mount_target, only_row, page_of
from tests.fss_toolbox.top.test_top_sources import JUDGE, host
from tests.rules.kernel_mount import RTT_MS, KernelMount

from fss_exporter.client_scrape import scrape_of
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import STANDARD
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.state import ERRORS, IOPS, LATENCY, TAIL, WAIT, State, Subject
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.oci.publish.published_metrics import STATE, PublishedPoint, metric_data
from fss_exporter.samples import Samples
from fss_exporter.served_states import states_of_addresses
from fss_exporter.web.status.html import render
from fss_toolbox.doctor.findings import Severity
from fss_toolbox.doctor.state_checks import check_states
from fss_toolbox.iostat.page_reports import report_between
from fss_toolbox.iostat.report_output import document
from fss_toolbox.iostat.traffic_report import Report, ReportOrder, lines_of, targets_of
from fss_toolbox.printed_states import sentence, state_document
from fss_toolbox.tables import colour as table_colour
from fss_toolbox.top.page_source import PageSource
from fss_toolbox.top.picture import shown_target
from fss_toolbox.top.refresher import Latest
from fss_toolbox.top.top_table import STYLES, headline, targets_table
from fss_toolbox.top.top_view import View

# Subject, detail and figure of each state, the figure as a multiple of its limit.
REASONS: dict[State, tuple[Subject, str, float] | None] = {
    State.FINE: None,
    State.NOT_KNOWN: None,
    State.NEAR: (IOPS, "", 1.1),
    State.SLOW: (LATENCY, "read up to 8 KiB", 3.0),
    State.FAILING: (ERRORS, "", 2.5),
    State.HANGING: (WAIT, "", 11.4),
}

# States that an agent judges. The idle address is fine.
ON_A_HOST = [State.FINE, State.SLOW, State.FAILING, State.HANGING]

# What an agent alone finds, with the ceiling of its configuration.
EXPORTED = [*ON_A_HOST, State.NEAR]


def of_mount_target(state: State) -> list[Row]:
    reason = REASONS[state]
    return [*mount_target(), *judged("mt-home", state, 57.0, *((reason,) if reason else ()))]


def of_address(state: State, why: tuple[Subject, str, float] | None = None) -> list[Row]:
    here = {"address": "10.9.9.9"}
    rows: list[Row] = [
        ("fss_client_peak_estimated_iops", here, 0.0),
        ("fss_client_address_state", here, float(state)),
        ("fss_client_address_state_age_seconds", here, 57.0),
    ]
    if reason := why or REASONS[state]:
        subject, detail, ratio = reason
        of = here | {"state": state.word, "subject": subject.name, "detail": detail}
        rows.append(("fss_client_address_state_evidence_ratio", of, ratio))
    return rows


def text(rows: list[Row]) -> str:
    lines = []
    for family in families(rows):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
            lines.append(f"{sample.name}{{{labels}}} {sample.value}\n")
    return "".join(lines)


@pytest.mark.parametrize("state", State)
def test_status_page_top_doctor_and_the_oci_metric_say_the_word_of_the_exported_state_of_a_mount_target(
    state: State,
) -> None:
    rows = of_mount_target(state)
    said = "no trouble seen by OCI" if state is State.FINE else state.word  # clients can hang while OCI sees nothing
    page = page_of(*rows)
    assert only_row(page).state.state is state
    assert f'">{said}</strong>' in render(page)
    assert ('class="tag fine"' in render(page)) is False  # OCI alone makes nothing green

    picture = PageSource(lambda: text(rows), "a page", JUDGE, 5.0).read()
    (line,) = targets_table(map(shown_target, picture.targets), View(), 200).rows
    assert line[1][1].text == said
    assert line[1][1].style != STYLES[State.FINE]

    (finding,) = check_states(Samples(families(rows)))
    assert (said in finding.message, finding.severity is Severity.OK) == (True, state is State.FINE)

    posted = metric_data(PublishedPoint(STATE, "c", (), 60, float(state), "ocid1.mt"))
    assert f"{posted['datapoints'][0]['value']:.0f} {state.word}" in posted["metadata"]["displayName"]


def test_status_page_top_and_doctor_say_where_to_read_why_a_state_is_not_known() -> None:
    rows = of_mount_target(State.NOT_KNOWN)
    assert '<a href="/runbook#fsscoverageincomplete">why</a>' in render(page_of(*rows))
    picture = PageSource(lambda: text(rows), "a page", JUDGE, 5.0).read()
    said = [line.text for line in headline("a page", Latest(picture), list(map(shown_target, picture.targets)), View())]
    assert "why not known: docs/runbook.md#fsscoverageincomplete" in said
    (finding,) = check_states(Samples(families(rows)))
    assert "docs/runbook.md#fsscoverageincomplete" in (finding.fix or "")


@pytest.mark.parametrize("state", ON_A_HOST)
def test_top_of_this_host_says_the_word_of_what_its_programs_feel(
    state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(0.0)
    monkeypatch.setattr("fss_toolbox.iostat.host_reports.time", SimpleNamespace(monotonic=clock))
    mount = KernelMount("10.9.9.9")
    source = host(lambda: tmp_path)
    picture = None
    for second in range(15):
        if state is State.HANGING and second:  # what waited before the first look is not known to hang
            mount.hang(1)
        else:
            rtt_ms = 100.0 if state is State.SLOW else RTT_MS
            mount.work(1, times={}, rtt_ms=rtt_ms, failing={"": 0.1} if state is State.FAILING else {}, again=0.0)
        write_procfs(
            tmp_path,
            str(mount),
            mountinfo(superblock="0:40", device="10.9.9.9:/export", mount_point=mount.mount_point, address="10.9.9.9"),
        )
        clock.now += 1
        picture = source.read() or picture
    assert picture is not None
    (line,) = targets_table(map(shown_target, picture.targets), View(), 200).rows
    assert line[1][1].text == state.word


@pytest.mark.parametrize("state", EXPORTED)
def test_status_page_iostat_and_doctor_say_the_word_of_the_exported_state_of_an_address(state: State) -> None:
    rows = of_address(state)
    samples = Samples(families(rows))
    assert f">{state.word}</strong>" in render(page_of(*rows))

    now = states_of_addresses(samples)["10.9.9.9"]
    told = "hanging: no reply for 57 s" if state is State.HANGING else f"{state.word} for 57 s"
    assert sentence(now).startswith(told)
    assert state_document(now)["state"] == state.word

    (finding,) = check_states(samples)
    assert (state.word in finding.message, finding.severity is Severity.OK) == (True, state is State.FINE)


def test_status_page_iostat_and_doctor_say_which_requests_are_late() -> None:
    rows = of_address(State.SLOW, (TAIL, "metadata_read", 2.0))
    samples = Samples(families(rows))
    says = "2.0 % of requests of metadata read take longer than the p99 objective"

    assert says in render(page_of(*rows))
    assert says in sentence(states_of_addresses(samples)["10.9.9.9"])
    (finding,) = check_states(samples)
    assert says in finding.message


def _working(share: float, seconds: float, *ceilings: Row) -> list[Row]:
    """An agent after some seconds of work at a share of 50,000 IOPS, which itself says fine."""
    here = {"address": "10.80.1.10"}
    return [
        *mount(50_000 * share * seconds),
        ("fss_client_peak_estimated_iops", here, 50_000 * share),
        ("fss_client_address_state", here, float(State.FINE)),
        ("fss_client_address_state_age_seconds", here, seconds),
        *ceilings,
    ]


OF_THE_CONFIGURATION: list[Row] = [
    ("fss_client_iops_limit", {"address": "10.80.1.10"}, 50_000),
    ("fss_client_warning_ratio", {"address": "10.80.1.10"}, 0.8),
]
OF_THE_POLLER = [*mount_target(iops_limit=50_000), *judged("mt-home", State.FINE)]


@pytest.mark.parametrize(
    ("share", "ceilings", "state"),
    [
        (0.88, OF_THE_CONFIGURATION, State.NEAR),
        (0.8, OF_THE_CONFIGURATION, State.NEAR),
        (0.799, OF_THE_CONFIGURATION, State.FINE),
        (0.88, OF_THE_POLLER, State.NEAR),
        (0.799, OF_THE_POLLER, State.FINE),
        (0.88, [], State.FINE),  # nobody states a ceiling
    ],
)
def test_no_view_calls_an_address_fine_beside_a_known_ceiling_that_the_load_of_its_host_brings_near(
    share: float, ceilings: list[Row], state: State
) -> None:
    before, now = (_working(share, seconds, *ceilings) for seconds in (10.0, 20.0))
    page = page_of(*now, earlier=before, after=10.0)
    assert [row.state.state for row in page.addresses] == [state]
    assert page.addresses[0].peak.state is not State.NEAR, "the busiest second is near from 95 % on"
    assert all(row.state.state is state for row in page.mount_targets)

    texts, times = iter(map(text, (before, now))), iter((0.0, 10.0))
    source = PageSource(texts.__next__, "a page", JUDGE, 10.0, times.__next__)
    source.read()
    targets = source.read().targets
    assert [target.state.state for target in targets] == [state]

    old, new = (scrape_of(Samples(families(rows))) for rows in (before, now))
    report = document(report_between("a page", old, new, 10.0), JUDGE, ReportOrder("mount", "iops", None))
    (target,) = report["mount_targets"]
    assert target["state"]["state"] == state.word
    if state is State.NEAR:
        said = f"IOPS at least {share:.0%} of the ceiling".replace("%", " %")  # the cost of metadata is exact
        assert said in sentence(targets[0].state)
        assert said in render(page)


@pytest.mark.parametrize(("share", "state"), [(0.88, State.NEAR), (0.799, State.NOT_KNOWN)])
def test_iostat_judges_by_a_ceiling_of_its_own_configuration_the_load_of_an_interval_and_no_mean_since_the_mount(
    share: float, state: State
) -> None:
    key = SeriesKey("10.80.1.10", "10.80.1.10", "/export/a")
    traffic = Traffic({"GETATTR": OperationTraffic(1000.0, Bounds.exact(50_000 * share))})
    stated = replace(JUDGE, by_address={"10.80.1.10": STANDARD.limits})
    for seconds, said in ((10.0, state), (None, State.NOT_KNOWN)):
        (line,) = targets_of(Report("a host", {key: traffic}, {}, seconds=seconds), stated, "iops")
        assert line.state.state is said
    assert (
        targets_of(Report("a host", {key: traffic}, {}, seconds=10.0), JUDGE, "iops")[0].state.state is State.NOT_KNOWN
    )


@pytest.mark.parametrize(("ratio", "colour"), [(0.8, ""), (0.7, "yellow")])
def test_iostat_colours_a_share_from_where_the_configuration_calls_it_near(ratio: float, colour: str) -> None:
    key = SeriesKey("10.80.1.10", "10.80.1.10", "/export/a")
    traffic = Traffic({"GETATTR": OperationTraffic(1000.0, Bounds.exact(37_500.0))})
    stated = replace(JUDGE, by_address={"10.80.1.10": STANDARD.limits}, warning_ratio=ratio)
    target, part = lines_of(Report("a host", {key: traffic}, {}), stated, ReportOrder("mount", "iops", None))
    assert [table_colour(line.share, line.warning_ratio) for line in (target, part)] == [colour, colour]
