"""What the status page says of a collection."""

import re

import pytest
from tests.fss_exporter.web.pages import (
    NOW,
    Row,
    families,
    fresh,
    judged,
    last_known,
    mount,
    mount_target,
    only_row,
    page_of,
)

from fss_exporter.model.knowledge import LAST_KNOWN_SECONDS, FigureSource
from fss_exporter.model.state import ERRORS, IOPS, LATENCY, WAIT, State
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.web.status.html import render
from fss_exporter.web.status.rows import Quantity
from fss_exporter.web.status.view import StatusView


def test_nothing_collected_gives_a_page_that_says_so() -> None:
    html = render(page_of())

    assert "No collector has reported yet" in html
    assert "This exporter does not read NFS counters" in html
    assert "Mount targets:" not in html


@pytest.mark.parametrize(
    ("iops", "state"),
    [
        (0, State.FINE),
        (50_000 * WARNING_RATIO - 1, State.FINE),
        (50_000 * WARNING_RATIO, State.NEAR),
        (80_000, State.NEAR),
    ],
)
def test_a_share_of_the_ceiling_has_the_colour_of_the_state_that_it_proves(iops: float, state: State) -> None:
    row = only_row(page_of(*mount_target(iops=iops, iops_limit=50_000), *fresh()))

    assert row.of(Quantity.IOPS)[0].state is state


def test_a_share_that_is_near_by_the_configuration_is_near_on_the_page_with_the_figure_that_was_judged() -> None:
    near = ("fss_oci_warning_ratio", {"tenancy": "acme", "region": "eu-frankfurt-1"}, 0.7)
    told = judged("mt-home", State.NEAR, 60.0, (IOPS, "", 0.72))
    page = page_of(*mount_target(iops=36_000, iops_limit=50_000), *fresh(), *told, near)

    assert only_row(page).of(Quantity.IOPS)[0].state is State.NEAR
    assert "IOPS at 72 % of the ceiling" in render(page)
    assert "near from 70 % on" in render(page)


@pytest.mark.parametrize("state", State)
def test_a_mount_target_has_the_state_that_the_poller_exports_whatever_its_figures(state: State) -> None:
    page = page_of(*mount_target(iops=10, iops_limit=50_000), *fresh(), *judged("mt-home", state))

    assert only_row(page).state.state is state
    word = "no trouble seen by OCI" if state is State.FINE else state.word
    assert f">1 {word}</strong>" in render(page)
    assert ("OCI counts no request without a reply" in render(page)) is (state is State.FINE)


def test_a_state_has_its_reason_its_length_and_a_link_to_what_now() -> None:
    reason = (LATENCY, "read up to 8 KiB", 3.0)
    html = render(page_of(*mount_target(), *judged("mt-home", State.SLOW, 180.0, reason)))

    assert '<strong class="tag critical">slow</strong> <small>for 3 min</small>' in html
    assert "latency of read up to 8 KiB at 300 % of the objective" in html
    assert 'href="/runbook#fssmounttargetslow"' in html
    assert "<title>1 slow - fss-exporter</title>" in html


def peak_of(iops: float, address: str = "10.80.1.10") -> list[Row]:
    """The busiest second of an address that is mounted."""
    here = {"address": address}
    return [("fss_client_peak_estimated_iops", here, iops), ("fss_client_address_state", here, 0.0)]


def hung_here(*more: Row) -> list[Row]:
    """This host waits for 57 seconds."""
    here = {"address": "10.80.1.10"}
    of = here | {"state": "hanging", "subject": WAIT.name}
    return [
        ("fss_client_peak_estimated_iops", here, 0.0),
        ("fss_client_address_state", here, float(State.HANGING)),
        ("fss_client_address_state_age_seconds", here, 57.0),
        ("fss_client_address_state_evidence_ratio", of, 57.0 / 5.0),
        *more,
    ]


def test_a_mount_target_that_hangs_for_this_host_is_not_fine_though_oci_says_so() -> None:
    page = page_of(*hung_here(*mount_target(), *judged("mt-home", State.FINE)))
    now = only_row(page).state

    assert (now.state, now.seconds, now.reasons[0].who) == (State.HANGING, 57.0, "this host")
    assert "no reply for 57 s" in render(page)
    assert "OCI counts no request without a reply" not in render(page)


def test_a_hanging_address_without_a_poller_is_in_the_title() -> None:
    html = render(page_of(*hung_here()))

    assert "<title>1 hanging - fss-exporter</title>" in html
    assert "1 address of this host:" in html


def test_two_mount_targets_with_one_name_have_their_place() -> None:
    (info, labels, value) = mount_target()[0]
    other = labels | {"region": "us-ashburn-1", "mount_target_id": "b"}
    third = labels | {"tenancy": "ocid1.tenancy.oc1..aaaaxyz123", "mount_target_id": "c"}
    alike = [
        labels | {"mount_target_id": f"ocid1.mounttarget.oc1..{network}", "network": network}
        for network in ("prod-1", "test-1")
    ]
    page = page_of(*((info, of, value) for of in (*alike, other, third)))

    assert [row.shown_name for row in page.mount_targets] == [
        "mt-home in eu-frankfurt-1, ...prod-1",
        "mt-home in eu-frankfurt-1, ...test-1",
        "mt-home in eu-frankfurt-1, ...xyz123",
        "mt-home in us-ashburn-1",
    ]


def test_a_mount_target_without_a_published_ceiling_has_a_figure_and_no_bar() -> None:
    page = page_of(*mount_target(iops=61_000))
    html = render(page)

    assert only_row(page).of(Quantity.IOPS)[0].state is State.NOT_KNOWN
    assert "61,000" in html
    assert "no published ceiling" in html
    assert "<svg" not in html


def test_a_mount_target_without_an_iops_ceiling_says_that_no_alert_watches_it_and_what_to_set() -> None:
    asks = "no IOPS ceiling known, so the 80 % alert does not watch it: read it in Oracle's paper and set"
    _, unknown = row_and_rest(render(page_of(*mount_target())))
    _, observed = row_and_rest(render(page_of(*mount_target(observed_iops_limit=61_000))))
    _, stated = row_and_rest(render(page_of(*mount_target(iops_limit=90_000, observed_iops_limit=61_000))))

    assert (asks in unknown, "limits: observed" in unknown) == (True, False)
    assert "limits.shapes.<bdi>standard</bdi>.iops" in unknown
    assert "or take the observed 61,000 IOPS with" in observed
    assert "no IOPS ceiling known" not in stated


def test_a_mount_target_without_data_says_no_data_and_not_zero() -> None:
    row, rest = row_and_rest(render(page_of(*mount_target())))

    assert ("<small>not known</small>" in row, row.count("no data")) == (True, 1)
    assert rest.count("no data") == len((Quantity.IOPS, Quantity.READ, Quantity.WRITE, Quantity.LATENCY))


def row_and_rest(html: str) -> tuple[str, str]:
    """The row of the only mount target, and what a click on it shows."""
    row, _, rest = html[html.index("<tbody>") : html.index("</tbody>")].partition('<tr class="rest">')
    return row, rest


def test_a_row_has_state_since_fullest_ceiling_latency_and_who_and_a_click_shows_the_rest() -> None:
    cloud = mount_target(iops=25_000, iops_limit=50_000, write_bytes_per_second=7e8, connections=9)
    told = judged("mt-home", State.FAILING, 1080.0, (ERRORS, "", 5.0))
    html = render(page_of(*cloud, *fresh(), *told, *mount(50_000), earlier=mount(0)))
    row, rest = row_and_rest(html)

    for words in ("failing", "for 18 min", "5.0 % of requests fail", "what now", "this host, coverage 20 %"):
        assert words in row
    assert re.search(r"IOPS 25,000 .*of 50,000.*50 %.*<svg.*measured, 60 s old", row, re.DOTALL)
    for words in ("10.80.1.10", "700 MB/s", "9 connections"):
        assert (words in row, words in rest) == (False, True)
    assert "How this is judged</summary><p>" in html


def test_connections_near_their_ceiling_stand_out() -> None:
    few = render(page_of(*mount_target(connections=140, connections_limit=100_000), *fresh()))
    many = render(page_of(*mount_target(connections=99_000, connections_limit=100_000), *fresh()))

    assert "140 of 100,000 connections, &lt;1 %" in row_and_rest(few)[1]
    assert '<strong class="warning">99 %</strong>' in row_and_rest(many)[0]


def test_the_three_sources_of_iops_stand_apart_and_only_the_measured_one_has_a_bar_and_no_word() -> None:
    cloud = mount_target(
        iops=40_000,
        estimated_iops=41_000,
        estimated_iops_lower_bound=30_000,
        estimated_iops_upper_bound=42_000,
        iops_limit=50_000,
    )
    page = page_of(*cloud, *mount(90_000, operation="READ"), *fresh(), earlier=mount(60_000, operation="READ"))

    assert [(usage.figure.source, usage.value) for usage in only_row(page).of(Quantity.IOPS)] == [
        (FigureSource.MEASURED, 40_000),
        (FigureSource.OCI, 41_000),
        (FigureSource.HOST, 3_000),
    ]
    row, rest = row_and_rest(render(page))
    assert "<span>IOPS 40,000 <" in row
    assert "<span>40,000 <" in rest
    assert "<small>about 41,000, estimated from OCI" in rest
    assert "<small>about 3,000, estimated from this host&#39;s mounts" in rest
    assert (row.count("<svg"), rest.count("<svg")) == (1, 1)
    assert "at least" not in row + rest, "none of the figures is a lower bound"


def test_an_estimate_is_about_its_likely_value_with_its_range_and_near_by_the_likely_value() -> None:
    """The lower bound of 71 % would hide the full ceiling, and the likely value is no proof."""
    cloud = mount_target(
        estimated_iops=42_000, estimated_iops_lower_bound=35_500, estimated_iops_upper_bound=48_500, iops_limit=50_000
    )
    page = page_of(*cloud, *fresh())
    html = render(page)

    assert only_row(page).of(Quantity.IOPS)[0].state is State.NEAR
    assert "<span>about 42,000 (35,500 to 48,500)" in html
    assert "about 84 % (71 to 97 %)" in html


def test_each_figure_says_how_old_it_is_whatever_the_case_of_the_metric_name() -> None:
    aged = (
        "fss_oci_datapoint_age_seconds",
        {"tenancy": "acme", "region": "eu-frankfurt-1", "oci_metric": "mountTargetIOPS"},
        130.0,
    )

    html = render(page_of(*mount_target(iops=40_000, iops_limit=50_000), aged))

    assert "measured, 2 min old" in html


OUTAGE = 31 * 60.0


def test_one_host_does_not_show_that_a_mount_target_is_fine() -> None:
    page = page_of(*mount_target(iops_limit=50_000), *mount(45_000), earlier=mount(0))
    html = render(page)

    assert only_row(page).of(Quantity.IOPS)[0].state is State.NOT_KNOWN
    assert "at least 9 %" in html
    assert '<strong class="unknown">1 not known</strong>' in html
    assert "1 fine" not in html


def test_one_host_shows_that_a_mount_target_is_nearly_full() -> None:
    page = page_of(*mount_target(iops_limit=50_000), *mount(430_000), earlier=mount(0))

    assert only_row(page).of(Quantity.IOPS)[0].state is State.NEAR
    assert "at least 86 %" in render(page), "the cost of metadata is exact"


def test_in_an_outage_of_oci_the_last_known_share_is_grey_and_has_its_age() -> None:
    page = page_of(
        *mount_target("full", iops_limit=50_000, read_bytes_per_second_limit=1e9),
        *last_known("full", OUTAGE, iops=0.91, read_bandwidth=0.3),
        *mount_target("calm", iops_limit=50_000),
        *last_known("calm", OUTAGE, iops=0.2),
    )
    html = render(page)

    assert [row.name for row in page.mount_targets] == ["full", "calm"]
    assert '<strong class="unknown">about 91 %, 31 minutes old</strong>' in html
    assert '<strong class="unknown">about 30 %, 31 minutes old</strong>' in html
    assert page.of_mount_targets == {(State.NOT_KNOWN, "not known"): 2}


def test_a_share_of_more_than_an_hour_ago_does_not_order_the_page() -> None:
    page = page_of(
        *mount_target("once", iops_limit=50_000),
        *last_known("once", LAST_KNOWN_SECONDS + 1, iops=0.91),
        *mount_target("now", iops=100, iops_limit=50_000),
        *fresh(),
    )

    assert [row.name for row in page.mount_targets] == ["now", "once"]


def test_the_load_of_this_host_says_which_part_of_the_whole_load_it_is() -> None:
    page = page_of(*mount_target(iops=25_000, iops_limit=50_000), *fresh(), *mount(50_000), earlier=mount(0))

    assert [usage.figure.coverage for usage in only_row(page).of(Quantity.IOPS)] == [None, pytest.approx(0.2)]
    assert "coverage 20 %" in render(page)


def test_equal_failures_are_one_line_with_their_number_and_reason_and_refused_credentials_come_first() -> None:
    region = {"tenancy": "acme", "region": "eu-frankfurt-1"}
    listings = ("ListExports", "ListFileSystems", "ListMountTargets", "ListReplications", "ListVolumes")
    calls = (
        *((name, "503", 2.0) for name in listings),
        ("GetPrivateIp", "429", 1.0),
        ("ListVolumes", "404", 1.0),
        ("GetVolume", "401", 1.0),
    )
    page = page_of(
        *(
            ("fss_oci_failed_calls", region | {"operation": operation, "reason": reason}, number)
            for operation, reason, number in (*calls, ("SummarizeMetricsData", "503", 34.0))
        ),
    )

    assert page.problems == (
        "OCI refuses the credentials (401) in eu-frankfurt-1: 1 lookup failed (GetVolume).",
        "OCI answers 404 in eu-frankfurt-1: 1 listing failed (ListVolumes).",
        "OCI answers 503 in eu-frankfurt-1: 10 listings failed (ListExports, ListFileSystems, ListMountTargets and 2 more).",
        "OCI answers 429 in eu-frankfurt-1: 1 lookup failed (GetPrivateIp).",
        "OCI answers 503 in eu-frankfurt-1: 34 metric queries failed (SummarizeMetricsData).",
    )


def test_what_is_expected_and_not_seen_is_said() -> None:
    region = {"tenancy": "acme", "region": "eu-frankfurt-1"}
    page = page_of(
        ("fss_coverage_expected", {"part": "mounts"}, 10.0),
        ("fss_coverage_seen", {"part": "mounts"}, 1.0),
        ("fss_coverage_expected", region | {"part": "metrics"}, 30.0),
        ("fss_coverage_seen", region | {"part": "metrics"}, 30.0),
        ("fss_oci_permission_missing", region | {"permission": "inspect limits"}, 1.0),
    )

    assert page.problems == (
        "1 of 10 mounts seen.",
        "OCI refuses inspect limits in eu-frankfurt-1. fss-exporter doctor prints the policy statement.",
    )


def test_a_region_is_not_missed_while_the_first_poll_runs() -> None:
    region = {"tenancy": "acme", "region": "eu-frankfurt-1", "part": "regions"}
    missing = (("fss_coverage_expected", region, 1.0), ("fss_coverage_seen", region, 0.0))

    assert page_of(*missing, ("fss_collector_starting", {"collector": "oci"}, 1.0)).problems == ()
    assert page_of(*missing).problems == ("0 of 1 regions seen in eu-frankfurt-1.",)


def test_the_latency_shown_is_the_one_nearest_to_its_own_objective() -> None:
    behind = mount_target()[0][1]
    behind = {key: behind[key] for key in ("tenancy", "region", "mount_target_id", "mount_target")} | {
        "file_system": "projects"
    }
    target = {key: behind[key] for key in ("tenancy", "region", "mount_target_id", "mount_target")} | {"kind": "read"}
    small, large = target | {"size": "0B_to_8KiB"}, target | {"size": "64KiB_to_1MiB"}
    row = only_row(
        page_of(
            *mount_target(),
            *fresh(),
            ("fss_mount_target_latency_objective_seconds", small, 0.010),
            ("fss_mount_target_latency_objective_seconds", large, 0.050),
            ("fss_mount_target_latency_objective_ratio", behind | {"kind": "read", "size": "0B_to_8KiB"}, 0.9),
            ("fss_mount_target_latency_objective_ratio", behind | {"kind": "read", "size": "64KiB_to_1MiB"}, 0.4),
        )
    )

    (latency,) = row.of(Quantity.LATENCY)
    assert latency.value == pytest.approx(0.009)
    assert (latency.limit, latency.note) == (0.010, "read up to 8 KiB on projects")
    assert latency.state is State.NEAR


def test_the_mount_target_nearest_to_a_ceiling_comes_first() -> None:
    page = page_of(
        *mount_target("calm", iops=100, iops_limit=50_000),
        *mount_target("busy", iops=49_000, iops_limit=50_000),
        *mount_target("unknown", iops=90_000),
        *fresh(),
    )

    assert [row.name for row in page.mount_targets] == ["busy", "calm", "unknown"]


def test_the_worst_state_comes_first_and_then_the_fullest() -> None:
    page = page_of(
        *mount_target("full", iops=49_000, iops_limit=50_000),
        *mount_target("sick", iops=100, iops_limit=50_000),
        *fresh(),
        *judged("full", State.NEAR),
        *judged("sick", State.FAILING),
    )

    assert [row.name for row in page.mount_targets] == ["sick", "full"]
    assert "<title>1 failing - fss-exporter</title>" in render(page)


def test_a_thousand_mount_targets_come_in_pages_the_nearest_to_a_ceiling_first() -> None:
    rows = [row for n in range(1000) for row in mount_target(f"mt-{n}", iops=n * 10, iops_limit=50_000)]
    page = page_of(*rows, *fresh())

    first, last = render(page), render(page, number=40)

    assert "1000 found, page 1 of 40" in first
    assert first.index("mt-999<") < first.index("mt-975<")
    assert "mt-974<" not in first
    assert 'href="?q=&amp;page=2"' in first
    assert "mt-0<" in last
    assert 'rel="next"' not in last
    assert len(first) < 120_000, "a phone on the move loads it too"


@pytest.mark.parametrize(("search", "expected"), [("MT-9", 11), ("10.80.1.10", 100), ("frankfurt", 100), ("x<y", 0)])
def test_mount_targets_are_searched_by_any_of_their_names(search: str, expected: int) -> None:
    rows = [row for n in range(100) for row in mount_target(f"mt-{n}", iops=n * 10, iops_limit=50_000)]

    assert f"<span>{expected} found" in render(page_of(*rows), search=search, number=99999)


@pytest.mark.parametrize(
    ("query", "shown"), [("page=0", 1), ("page=-1", 1), ("page=2", 2), ("page=9" * 9, 1), ("page=²", 1)]
)
def test_any_page_number_is_a_page(query: str, shown: int) -> None:
    rows = [row for n in range(30) for row in mount_target(f"mt-{n}", iops=n, iops_limit=50_000)]
    view = StatusView(lambda: families(rows), now=lambda: NOW)

    assert f"page {shown} of 2" in view.html(query)


def test_mount_targets_are_counted_while_they_are_discovered() -> None:
    complete = (
        "fss_oci_inventory_last_success_timestamp_seconds",
        {"tenancy": "acme", "region": "eu-frankfurt-1"},
        1.0,
    )

    assert "discovering: 1 so far" in render(page_of(*mount_target()))
    assert "discovering" not in render(page_of(*mount_target(), complete))


def test_a_poller_that_stands_by_says_where_the_mount_targets_are() -> None:
    words = "This poller stands by, because another poller leads"
    assert words in render(page_of(("fss_oci_leader", {}, 0.0)))
    assert words not in render(page_of(("fss_oci_leader", {}, 1.0)))
    assert words not in render(page_of())


def test_rates_are_over_the_time_since_the_earlier_look() -> None:
    reads, later = (mount(io, operation="READ") for io in (1_000, 3_000))
    page = page_of(*later, *mount(500, export="/export/b"), earlier=reads, after=20)

    first, second = page.mounts
    assert (first.mount.export, first.iops) == ("/export/a", (90, 100, 120))
    assert first.share == pytest.approx(0.8)
    assert (first.traffic.read_bytes, first.traffic.written_bytes) == (100_000, 1_000)
    assert first.traffic.all_operations.mean_rtt_seconds == pytest.approx(0.002)
    assert first.traffic.all_operations.mean_queue_seconds == pytest.approx(0.0005)
    assert second.iops.point == 25, "a mount that was not there before counts from zero"


def test_bounds_of_a_mount_hold_the_exact_cost_of_metadata_too() -> None:
    earlier = [*mount(0, operation="READ"), *mount(0, operation="RENAME")]
    page = page_of(*mount(1_000, operation="READ"), *mount(9_000, operation="RENAME"), earlier=earlier)

    assert page.mounts[0].iops == (990, 1_000, 1_020)


def test_the_operation_that_costs_most_is_named_not_the_one_that_cost_most_before() -> None:
    before = [*mount(90_000, operation="READ"), *mount(10, operation="RENAME")]
    page = page_of(*mount(90_100, operation="READ"), *mount(5_010, operation="RENAME"), earlier=before)

    assert page.mounts[0].top_operation == "RENAME"


def test_the_operation_that_costs_most_is_named_by_the_costs_that_the_agent_counts_by() -> None:
    measured = {"operation": "RENAME", "io_operations": "1", "factor": "", "date": "2026-11-20", "source": "calibrate"}
    load = [*mount(800, operation="RENAME"), *mount(300, operation="REMOVE")]

    by_the_table = page_of(*load)
    by_measured_costs = page_of(*load, ("fss_cost_model_info", measured, 1.0))

    assert by_the_table.mounts[0].top_operation == "RENAME"
    assert by_measured_costs.mounts[0].top_operation == "REMOVE"


def test_of_a_service_that_counts_reads_and_writes_alone_no_metadata_costs_most() -> None:
    rows = [*mount(10, operation="READ", service="apsara-nas"), *mount(9_000, operation="RENAME", service="apsara-nas")]
    page = page_of(*(row for row in rows if "estimated" not in row[0] or row[1]["class"] == "read"))

    assert page.mounts[0].top_operation == "READ"


def test_counters_that_started_anew_never_give_a_negative_rate() -> None:
    page = page_of(*mount(10), earlier=mount(1_000_000))

    assert page.mounts[0].iops.point == 0


def test_an_idle_mount_has_no_latency_and_no_share() -> None:
    page = page_of(*mount(10), earlier=mount(10))

    assert page.mounts[0].traffic.all_operations.mean_rtt_seconds is None
    assert page.mounts[0].share is None
    assert page.mounts[0].top_operation == ""
    assert "None" not in render(page)


def test_the_first_visit_shows_who_loads_the_mounts_since_the_start() -> None:
    time = [0.0]
    view = StatusView(lambda: families(mount(1000)), clock=lambda: time[0], now=lambda: NOW)
    time[0] = 10.0

    html = view.html()

    assert "Means of the last 11 s" in html
    assert ">91<" in html


@pytest.mark.parametrize(("mounts", "listed"), [(50, None), (51, "The 50 busiest of 51 mounts are listed.")])
def test_a_list_that_leaves_mounts_out_says_so(mounts: int, listed: str | None) -> None:
    rows = [row for number in range(mounts) for row in mount(number, export=f"/{number}")]

    html = render(page_of(*rows, earlier=mount(0)))

    assert ("busiest of" in html) is (listed is not None)
    assert (listed or "") in html


@pytest.mark.parametrize(("addresses", "is_said"), [(25, False), (26, True)])
def test_a_list_that_leaves_addresses_out_says_so(addresses: int, is_said: bool) -> None:
    rows = [row for number in range(addresses) for row in peak_of(number, f"10.0.0.{number}")]

    assert ("The 25 busiest of 26 addresses are listed." in render(page_of(*rows))) is is_said


def test_a_failing_collector_is_the_first_thing_on_the_page_with_its_last_success() -> None:
    html = render(
        page_of(
            *mount_target(iops=49_000, iops_limit=50_000),
            *fresh(),
            ("fss_collector_success", {"collector": "nfs"}, 0.0),
            ("fss_collector_last_success_timestamp_seconds", {"collector": "nfs"}, NOW.timestamp() - 300),
        )
    )

    main = html[html.index("<main") :]
    assert main.index("(last success 5 min ago)") < main.index("1 not known")
    assert "The NFS counters of this host cannot be read" in html
    assert "No NFS mount is read" not in html


def test_mounts_whose_counters_cannot_be_read_have_no_load_of_zero() -> None:
    counters = [row for row in mount(50_000) if row[0] != "fss_client_mount_info"]
    failing = ("fss_collector_success", {"collector": "nfs"}, 0.0)
    html = render(page_of(*counters, failing, earlier=mount(50_000), after=60))

    assert "so the mounts are unknown" in html
    assert "/export/a" not in html


def test_a_healthy_page_without_mounts_does_not_say_that_the_host_has_none() -> None:
    part = {"tenancy": "", "region": "", "part": "mounts"}
    unread = [("fss_coverage_expected", part, 3.0), ("fss_coverage_seen", part, 0.0)]
    html = re.sub("</?code>", "", render(page_of(("fss_collector_success", {"collector": "nfs"}, 1.0), *unread)))

    assert "0 of 3 mounts seen." in html
    assert (
        "No NFS mount is read: this host has none, --nfs.mounts-include or --nfs.mounts-exclude leaves out all, or their counters cannot be"
        in html
    )


def test_an_address_of_another_service_is_judged_by_its_own_ceiling_or_by_none() -> None:
    info = {"address": "10.0.0.9", "server": "x.nas.aliyuncs.com", "export": "/", "service": "apsara-nas"}
    peak = ("fss_client_peak_estimated_iops", {"address": "10.0.0.9"}, 25_000.0)
    limit = ("fss_client_iops_limit", {"address": "10.0.0.9"}, 30_000.0)

    (unknown,) = page_of(("fss_client_mount_info", info, 1.0), peak).addresses
    (row,) = page_of(("fss_client_mount_info", info, 1.0), peak, limit).addresses

    assert unknown.peak.limit is None
    assert (row.peak.limit, row.peak.note) == (30_000.0, "")


def test_a_high_performance_mount_target_without_a_published_ceiling_is_not_judged_as_a_standard_one() -> None:
    (row,) = page_of(*mount_target(), *peak_of(60_000.0)).addresses

    assert (row.mount_target, row.peak.limit) == ("mt-home", None)


def test_an_agent_without_oci_compares_its_peak_with_a_standard_mount_target_and_says_so() -> None:
    html = render(page_of(*peak_of(25_000.0)))

    assert "if it is a standard mount target" in html
    assert "50 %" in html


def test_a_known_address_has_the_display_name_and_its_own_ceiling() -> None:
    (row,) = page_of(*mount_target(iops_limit=100_000), *peak_of(25_000.0)).addresses

    assert (row.mount_target, row.peak.ratio, row.peak.note) == ("mt-home", 0.25, "")


def test_an_address_without_a_mount_is_not_listed_though_its_peak_is_kept() -> None:
    peak, _ = peak_of(25_000.0)
    assert page_of(peak).addresses == ()


def test_a_failed_collector_region_and_metric_are_named() -> None:
    region = {"tenancy": "acme", "region": "eu-frankfurt-1"}
    html = render(
        page_of(
            ("fss_collector_success", {"collector": "nfs"}, 0.0),
            ("fss_oci_poll_success", region, 0.0),
            ("fss_oci_poll_timestamp_seconds", region, NOW.timestamp() - 45),
            ("fss_oci_metric_success", region | {"oci_metric": "MountTargetConnections"}, 0.0),
            ("fss_oci_metric_success", region | {"oci_metric": "MountTargetIOPS"}, 1.0),
        )
    )

    assert "fails or is stalled: see the log" in html
    assert "incomplete: see the log" in html
    assert "no answer to 1: MountTargetConnections" in html
    assert "45 s ago" in html


def test_what_the_monitoring_misses_is_said_and_nothing_is_said_otherwise() -> None:
    skipped = "fss_nfs_records_skipped_total"
    well = page_of((skipped, {"reason": "truncated"}, 0.0), ("fss_nfs_unresolved_forwarder_addresses", {}, 0.0))
    unwell = page_of(
        (skipped, {"reason": "truncated"}, 12.0),
        ("fss_nfs_unresolved_forwarder_addresses", {}, 1.0),
        ("fss_oci_ambiguous_addresses", {"tenancy": "acme", "region": "eu-frankfurt-1"}, 2.0),
        (
            "fss_oci_failed_calls",
            {"tenancy": "acme", "region": "eu-frankfurt-1", "operation": "ListExports", "reason": "503"},
            1.0,
        ),
    )

    assert well.problems == ()
    assert len(unwell.problems) == 4
    assert "address_map" in render(unwell)


def test_a_first_round_that_runs_is_starting_and_no_failure() -> None:
    starting, failed = (
        ("fss_collector_starting", {"collector": "nfs"}, 1.0),
        ("fss_collector_success", {"collector": "nfs"}, 0.0),
    )
    for row, says, never in (
        (
            starting,
            ("starting: its first round runs", "are read for the first time"),
            ("may be missing or old", "No NFS mount is read"),
        ),
        (failed, ("may be missing or old", "cannot be read"), ("starting", "No NFS mount is read")),
    ):
        text = render(page_of(row))
        assert all(words in text for words in says)
        assert not any(words in text for words in never)
