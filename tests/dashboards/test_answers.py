"""Figures of panels: a source that is missing is neither 0 nor green, and what two scrapes say counts once."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.artefacts.promql import substituted
from tests.artefacts.shipped_dashboards import PANELS
from tests.dashboards.asked import CHOSEN, RECORDED, STALE, ask, computed, expressions, expressions_with, panel_of
from tests.rules.pack import RULES, rules_of
from tools.generate.dashboards.panels import NO_POLLER
from tools.generate.dashboards.words import STATE_WORDS

from fss_exporter.model.limits import SHAPES
from fss_exporter.model.service_table import GB
from fss_exporter.model.state import State
from fss_toolbox.plan.comparison import shipped_prices

_DEAD, _ALIVE = "1x5 _x15", "1x20"
_UP, _DOWN = "1x20", "1x5 0x15"
_OF_CONSTANTS = {"info", "allowed", "paid"}  # columns of the table of shapes that need no series


def test_no_panel_answers_anything_without_data(tmp_path: Path) -> None:
    asked = [
        substituted(expr, CHOSEN)
        for panel in PANELS
        for _, expr, name in panel.queries()
        if not (panel.title == "Which shape carries this load" and name in _OF_CONSTANTS)
        and "absent(" not in expr  # says what is missing
    ]

    ask(tmp_path, {}, [(expr, []) for expr in asked])


def test_the_text_of_an_empty_panel_claims_no_reason_and_does_not_say_that_all_is_well() -> None:
    for panel in PANELS:
        text = panel.body["fieldConfig"]["defaults"].get("noValue", "")

        assert re.match(r"$|no data$|No data\b|None is known\.$|No rule reports", text), text
        for good in re.findall(r"\bempty (?:panel|table) is good\b.*", panel.body["description"]):
            assert re.match(r"empty (panel|table) is good while ", good), panel


_INFO = 'fss_exporter_build_info{job="%s", instance="%s"}'
_ONE_FAILS = {
    _INFO % ("fss", "a"): _ALIVE,
    'up{job="fss", instance="a"}': _UP,
    'up{job="fss", instance="b"}': _DOWN,
    'up{job="other", instance="c"}': _DOWN,
}
_ALL_FAIL = {
    _INFO % ("agents", "a"): _DEAD,
    'up{job="agents", instance="a"}': _DOWN,
    'up{job="agents", instance="b"}': _DOWN,
    'up{job="other", instance="c"}': _DOWN,
}
_WAITING = 'client:fss_client_unanswered_seconds:max{job="fss", instance="a", address="10.0.0.%d"}'
_AGENT = 'fss_client_unanswered_seconds{job="fss", instance="a", address="10.0.0.1"}'
_RULES_RUN = {'address:fss_clients:count{address="10.0.0.1"}': "1x20"}
_COLLECTOR = 'fss_collector_last_success_timestamp_seconds{job="fss", instance="a", collector="%s"}'
_AGE = 'fss_oci_datapoint_age_seconds{region="%s", oci_metric="MountTargetConnections"}'
_POLL = 'fss_oci_poll_timestamp_seconds{region="%s"}'
_LISTED = 'fss_mount_target_info{region="%s", mount_target_id="m"}'


def _row(name: str) -> dict[str, str]:
    """A mount target that a poller lists."""
    return {
        f'mount_target:fss_mount_target:info{{region="r", mount_target_id="{name}", mount_target="{name}", address="10.0.0.1"}}': "1x20"
    }


def _connections(name: str, value: float) -> dict[str, str]:
    """The fresh share of the ceiling of connections."""
    labels = f'region="r", mount_target_id="{name}", mount_target="{name}", resource="connections"'
    return {f"mount_target_resource:fss_utilisation:ratio{{{labels}}}": f"{value}x20"}


def _share(kind: str, name: str, value: float, resource: str = "iops") -> dict[str, str]:
    """The share of a ceiling that is known of a mount target in some way."""
    labels = f'region="r", mount_target_id="{name}", mount_target="{name}"'
    shares = {f'mount_target_resource:fss_{kind}{{{labels}, resource="{resource}"}}': f"{value}x20"}
    return shares | (
        {f"mount_target:fss_utilisation:max{{{labels}}}": f"{value}x20"} if kind == "utilisation:ratio" else {}
    )


def _clients(name: str, value: float, resource: str = "iops") -> dict[str, str]:
    """The likely share of a ceiling that the clients of a mount target use."""
    labels = f'region="r", mount_target_id="{name}", mount_target="{name}"'
    return {f'mount_target_resource:fss_client_utilisation:ratio{{{labels}, resource="{resource}"}}': f"{value}x20"}


_CASES: Sequence[tuple[str, str, str, Mapping[str, str], Sequence[tuple[str, float]]]] = [
    ("exporter", "Not up", "counts a target of a job that has exporters", _ONE_FAILS, [("{}", 1)]),
    ("exporter", "Not up", "counts all targets of a job whose exporters all failed", _ALL_FAIL, [("{}", 2)]),
    (
        "exporter",
        "Not up",
        "remembers the exporters of days ago where the rules record them",
        {'job:fss_exporters:count{job="agents"}': _DEAD, 'up{job="agents", instance="a"}': _DOWN},
        [("{}", 1)],
    ),
    (
        "exporter",
        "Not up",
        "is 0 where all targets answer",
        {_INFO % ("fss", "a"): _ALIVE, 'up{job="fss", instance="a"}': _UP},
        [("{}", 0)],
    ),
    (
        "exporter",
        "Failing",
        "is 0 where all collectors work",
        {'fss_collector_success{collector="nfs"}': "1x20"},
        [("{}", 0)],
    ),
    (
        "exporter",
        "Not joined",
        "adds mount targets and forwarders",
        {
            'fss_oci_ambiguous_addresses{job="p", instance="p", region="r"}': "2x20",
            'fss_nfs_unresolved_forwarder_addresses{job="a", instance="a"}': "1x20",
        },
        [("{}", 3)],
    ),
    (
        "exporter",
        "Not joined",
        "needs no agent",
        {'fss_oci_ambiguous_addresses{job="p", instance="p", region="r"}': "2x20"},
        [("{}", 2)],
    ),
    (
        "exporter",
        "Data age",
        "grows in a region whose poller is dead",
        {_AGE % "dead": STALE, _POLL % "dead": "0x5 stale", _AGE % "live": "70x20", _POLL % "live": "0+60x20"},
        [("{}", 1200)],
    ),
    (
        "clients",
        "Stalled",
        "counts a client with two addresses once",
        {_WAITING % 1: "400x20", _WAITING % 2: "400x20", _AGENT: "1x20"},
        [("{}", 1)],
    ),
    (
        "clients",
        "Clients",
        "counts a client that two jobs scrape once",
        {f'fss_client_unanswered_seconds{{job="{job}", instance="a", address="10.0.0.1"}}': "0x20" for job in "ab"},
        [("{}", 1)],
    ),
    ("exporter", "Exporters", "is 0 where all exporters of a job failed", _ALL_FAIL, [("{}", 0)]),
    (
        "exporter",
        "Data age",
        "is unknown where polls end without any figure",
        {_LISTED % "mute": "1x20", _POLL % "mute": "0+60x20"},
        [],
    ),
    (
        "exporter",
        "Data age",
        "is unknown where one region has no figure and the others are fresh",
        {_LISTED % "mute": "1x20", _POLL % "mute": "0+60x20", _AGE % "live": "70x20", _POLL % "live": "0+60x20"},
        [],
    ),
    (
        "exporter",
        "Data age",
        "is told where it is too high though one region has no figure",
        {_LISTED % "mute": "1x20", _POLL % "mute": "0+60x20", _AGE % "live": "500x20", _POLL % "live": "0+60x20"},
        [("{}", 500)],
    ),
    *(
        case
        for title in ("Stalled", "Sent again", "Errors")
        for case in (
            ("clients", title, "is 0 where clients report", {_AGENT: "1x20"} | _RULES_RUN, [("{}", 0)]),
            ("clients", title, "is unknown where clients report and no rules are loaded", {_AGENT: "1x20"}, []),
        )
    ),
    (
        "clients",
        "Errors",
        "is unknown where node_exporter alone reports",
        {'client:fss_client_estimated_iops:topk20_rate5m{instance="a", address="10.0.0.1"}': "5x20"} | _RULES_RUN,
        [],
    ),
    (
        "fleet",
        "Over 80 %",
        "is 0 where the load of every mount target is known",
        _row("m") | _share("utilisation:ratio", "m", 0.5),
        [("{}", 0)],
    ),
    (
        "fleet",
        "Over 80 %",
        "is no 0 where the load of one mount target is not known",
        _row("m") | _row("n") | _share("utilisation:ratio", "m", 0.5),
        [],
    ),
    (
        "fleet",
        "Over 80 %",
        "counts the likely load of clients",
        _row("m") | _clients("m", 0.85) | _share("client_utilisation_lower_bound:ratio", "m", 0.71),
        [("{}", 1)],
    ),
    (
        "fleet",
        "Fullest",
        "is not green where only the last share is known",
        _row("m") | _share("utilisation:last1h", "m", 0.5),
        [],
    ),
    (
        "fleet",
        "Fullest",
        "is told of a mount target near its ceiling although another one is not known",
        _row("m") | _row("n") | _share("utilisation:ratio", "m", 0.95),
        [('{mount_target="m", mount_target_id="m", region="r"}', 0.95)],
    ),
    (
        "fleet",
        "Fullest",
        "is not green where the fullest ceiling is told no more",
        _row("m") | _share("utilisation:ratio", "m", 0.1) | _share("utilisation:last1h", "m", 0.91, "read_bandwidth"),
        [],
    ),
    (
        "fleet",
        "Fullest",
        "is not green where connections alone are fresh",
        _row("m") | _connections("m", 0.1),
        [],
    ),
    (
        "fleet",
        "Fullest",
        "is told of connections near their ceiling though all else is not known",
        _row("m") | _connections("m", 0.95) | {'region:fss_warning:ratio{region="r"}': "0.8x20"},
        [('{mount_target="m", mount_target_id="m", region="r"}', 0.95)],
    ),
    ("fleet", "Critical alerts", "is 0 where the rules run", {"fleet:fss_agents:count": "0x20"}, [("{}", 0)]),
    (
        "fleet",
        "Critical alerts",
        "is unknown where the rules ran until some minutes ago",
        {"fleet:fss_agents:count": "5x5 _x15", 'job:fss_exporters:count{job="a"}': "1x5 _x15"},
        [],
    ),
]


@pytest.mark.parametrize(
    ("file", "title", "series", "expected"),
    [pytest.param(*case[:2], *case[3:], id=f"{case[1]} {case[2]}") for case in _CASES],
)
def test_a_number(
    tmp_path: Path, file: str, title: str, series: Mapping[str, str], expected: Sequence[tuple[str, float]]
) -> None:
    expr, *_ = expressions(panel_of(file, title))

    ask(tmp_path, series, [(computed(expr, "mount_target:fss_fullest_ceiling:max"), expected)])


@pytest.mark.parametrize(
    ("collector", "expected"),
    [("nfs", [('{collector="nfs", instance="a", job="fss"}', 1200)]), ("oci_inventory", [])],
)
def test_a_collector_stalls_when_its_alert_says_so(
    tmp_path: Path, collector: str, expected: Sequence[tuple[str, float]]
) -> None:
    *_, age = expressions(panel_of("exporter", "Collectors that fail or stall"))

    ask(tmp_path, {_COLLECTOR % collector: "0x20"}, [(age, expected)])
    ask(tmp_path, {_COLLECTOR % collector: "600x20"}, [(age, [])])


def test_a_region_whose_poller_is_dead_stays_in_the_table_of_polls(tmp_path: Path) -> None:
    age, *_ = expressions(panel_of("exporter", "Polls of each region"))

    ask(tmp_path, {_POLL % "r": "0x5 stale"}, [(age, [('{region="r"}', 1200)])])


def test_a_poller_that_two_jobs_scrape_has_one_budget(tmp_path: Path) -> None:
    (used,) = expressions(panel_of("exporter", "API budget in use"))
    series = {f'fss_oci_api_budget_requests_per_second{{job="{job}", instance="p"}}': "10x20" for job in "ab"} | {
        f'fss_oci_api_requests_total{{job="{job}", instance="p", region="r", outcome="ok"}}': "0+300x20" for job in "ab"
    }

    ask(tmp_path, series, [(used, [('{instance="p"}', 0.5)])])


@pytest.mark.parametrize(("file", "title"), [("fleet", "Slowest"), ("fleet", "Data age"), ("exporter", "Data age")])
def test_a_figure_of_oci_reads_no_poller_where_agents_are_alone(tmp_path: Path, file: str, title: str) -> None:
    panel = panel_of(file, title)
    exprs = expressions(panel)
    texts = [
        mapping["options"][str(NO_POLLER)]["text"]
        for mapping in panel.body["fieldConfig"]["defaults"]["mappings"]
        if mapping["type"] == "value"
    ]

    ask(tmp_path, {_INFO % ("fss", "a"): _ALIVE}, [(f"sum({' or '.join(exprs)})", [("{}", NO_POLLER)])])
    ask(tmp_path, {_INFO % ("fss", "a"): _ALIVE, _POLL % "r": STALE}, [(exprs[-1], [])])
    assert texts == ["no poller"]


def test_the_rows_of_every_table_have_an_order() -> None:
    unsorted = [
        str(panel)
        for panel in PANELS
        if panel.body["type"] == "table"
        and not panel.body["options"]["sortBy"]
        and "sort" not in panel.body["targets"][0]["expr"]
    ]

    assert unsorted == []


def test_a_client_in_a_worse_state_comes_before_one_that_costs_more() -> None:
    sorted_by = panel_of("clients", "Top clients now").body["options"]["sortBy"]

    assert sorted_by == [{"desc": True, "displayName": "State"}, {"desc": True, "displayName": "Estimated IOPS"}]


_CEILINGS = "shape_resource:fss_limit:max"
# Days until reads of 0.5 GB/s, with 31.25 MB/s more each day, fill a shape: 64, 144 and 304. Two standard ones with 2 GB/s take 48.
_FULL_OF_READS = {
    name: (shape.limits.read_bytes_per_second - 0.5e9) / 31.25e6
    for name, shape in SHAPES.items()
    if name != "standard" and shape.limits.read_bytes_per_second
}
_OF_MT = 'region="r", mount_target_id="ocid1.mt", mount_target="mt"'


def _growing(**weeks: tuple[float, float]) -> dict[str, str]:
    """Half of the IOPS and most of the read bandwidth of a standard mount target, with the busiest week and the forecast by resource."""
    series = {
        f"fss_mount_target_iops{{{_OF_MT}}}": "25000x20",
        f"fss_mount_target_read_bytes_per_second{{{_OF_MT}}}": "9e8x20",
        f"fss_mount_target_iops_limit{{{_OF_MT}}}": "50000x20",
        f"fss_mount_target_read_bytes_per_second_limit{{{_OF_MT}}}": "1e9x20",
    }
    for resource, (busiest, forecast) in weeks.items():
        for name, value in (("p99_7d", busiest), ("forecast14d", forecast)):
            series[f'mount_target_resource:fss_utilisation:{name}{{{_OF_MT}, resource="{resource}"}}'] = f"{value}x20"
    return series


@pytest.mark.parametrize(
    ("weeks", "shapes"),
    [
        ({}, {}),
        ({"iops": (0.5, 0.4)}, {}),
        # Two standard mount targets have twice the ceiling. No document states IOPS of the other shapes.
        ({"iops": (1.5, 1.9375)}, {"standard": 16}),
        ({"read_bandwidth": (0.5, 0.9375)}, {"standard": 48, **_FULL_OF_READS}),
        (
            {"iops": (1.5, 1.9375), "read_bandwidth": (0.5, 0.9375)},
            {"standard": 16, **_FULL_OF_READS},
        ),
        ({"iops": (2.5, 2.9375)}, {"standard": 0}),
        ({"iops": (0.5, 0.5000001)}, {}),
    ],
    ids=["no history", "less load", "IOPS", "reads", "the first ceiling", "full already", "not within ten years"],
)
def test_the_day_on_which_a_shape_is_full_follows_the_recorded_weeks(
    tmp_path: Path, weeks: dict[str, tuple[float, float]], shapes: dict[str, float]
) -> None:
    panel = panel_of("mount-target", "Which shape carries this load")
    (full_on,) = (substituted(expr, CHOSEN) for _, expr, name in panel.queries() if name == "full")
    wanted = [(f'{{shape="{shape}"}}', 1000 * (1200 + 86400 * days)) for shape, days in shapes.items()]

    ask(tmp_path, _growing(**weeks), [(computed(full_on, _CEILINGS), wanted)])


def test_the_price_of_a_shape_is_its_entitlement_by_the_price_of_a_gb(tmp_path: Path) -> None:
    panel = panel_of("mount-target", "Which shape carries this load")
    (price,) = (substituted(expr, CHOSEN) for _, expr, name in panel.queries() if name == "usd")
    needed = {"standard": 2}
    prices = {
        shape.name: needed.get(shape.name, 1) * shape.entitlement_bytes / GB * shipped_prices()[shape.name].usd_per_gb
        for shape in SHAPES.values()
    }

    ask(
        tmp_path,
        _growing(),
        [(computed(price, _CEILINGS), [(f'{{shape="{shape}"}}', usd) for shape, usd in prices.items()])],
    )


_TABLE = "Mount targets: how close, who, what now"


def _column(name: str, title: str = _TABLE) -> str:
    """The query of the fleet whose value or label is a column."""
    panel = panel_of("fleet", title)
    (expr,) = (
        expr
        for _, expr, legend in panel.queries()
        if legend == name or (legend == "info" and f'"{name}", "$1"' in expr)
    )
    return substituted(expr, CHOSEN)


def test_the_worst_state_comes_first_then_the_fullest_ceiling_then_what_clients_cause(tmp_path: Path) -> None:
    rank, *_ = expressions(panel_of("fleet", _TABLE))
    series = _row("calm") | _row("near") | _row("nearer") | _row("slow")
    for name, state in (("calm", State.FINE), ("near", State.NEAR), ("nearer", State.NEAR), ("slow", State.SLOW)):
        series[f'mount_target:fss_state:max{{region="r", mount_target_id="{name}", mount_target="{name}"}}'] = (
            f"{state}x20"
        )
    series |= (
        _share("utilisation:last1h", "calm", 0.7) | _share("utilisation:last1h", "near", 0.85) | _clients("nearer", 0.9)
    )
    series |= _clients("near", 0.95, "read_bandwidth")
    ranks = [("calm", 0.35), ("near", 2.425), ("nearer", 2.45), ("slow", 3)]

    ask(
        tmp_path,
        series,
        [(f"max by (mount_target) ({rank})", [(f'{{mount_target="{name}"}}', at) for name, at in ranks])],
    )


_SERVICE = {
    'address:fss_clients:count{network="n", address="10.0.0.9"}': "5x20",
    'address:fss_client_estimated_iops:rate5m{network="n", address="10.0.0.9"}': "100x20",
    'address:fss_state:max{network="n", address="10.0.0.9"}': f"{State.SLOW}x20",
    'address_resource:fss_client_utilisation:ratio{network="n", address="10.0.0.9", resource="bandwidth"}': "0.9x20",
    'fss_client_service_info{network="n", address="10.0.0.9", service="nas"}': "1x20",
}


def test_agents_alone_show_the_state_of_an_address_and_its_stated_ceiling(tmp_path: Path) -> None:
    rank, ways, state, *_ = expressions(panel_of("fleet", _TABLE))
    known = [substituted(expr) for _, expr, _ in panel_of("fleet", _TABLE).queries() if "about" in expr]
    led = '{chosen="10.0.0.9", dashboard="fss-clients", variable="address"}'

    ask(
        tmp_path,
        _SERVICE,
        [
            (f"sum by (mount_target, resource) ({rank})", [('{mount_target="10.0.0.9", resource="bandwidth"}', 3.45)]),
            (f"count by (dashboard, variable, chosen) ({ways})", [(led, 1)]),
            (f"sum by (mount_target) ({state})", [('{mount_target="10.0.0.9"}', State.SLOW)]),
            (f"count by (known) ({known[0]})", [('{known="about 90 %"}', 1)]),
        ],
    )


@pytest.mark.parametrize(
    ("by_clients", "share", "state"), [(State.FINE, 0.7, State.NOT_KNOWN), (State.FINE, 0.8, State.NEAR)]
)
def test_clients_alone_show_no_address_fine(tmp_path: Path, by_clients: State, share: float, state: State) -> None:
    series = {
        'address:fss_client_state:max{network="n", address="10.0.0.9"}': f"{by_clients}x20",
        'address_resource:fss_client_utilisation:ratio{network="n", address="10.0.0.9", resource="bandwidth"}': f"{share}x20",
        'fss_client_warning_ratio{network="n", address="10.0.0.9", instance="host-1"}': "0.8x20",
    }

    ask(tmp_path, series, [(RECORDED["address:fss_state:max"], [('{network="n", address="10.0.0.9"}', state)])])


def test_beside_mount_targets_that_a_poller_knows_another_service_is_no_mount_target(tmp_path: Path) -> None:
    rank, *_ = expressions(panel_of("fleet", _TABLE))

    ask(
        tmp_path,
        _SERVICE | _row("m"),
        [(f'count(({rank}) and on (address) label_replace(vector(1), "address", "10.0.0.9", "", ""))', [])],
    )


@pytest.mark.parametrize(
    ("coverage", "clients", "told", "was"),
    [
        ("0.8x20", "4x20", "utilisation:ratio", None),
        ("0.8x10 0.7x10", "4x10 3x10", "utilisation:ratio", None),
        ("0.8x10 0.4x10", "4x10 2x10", "utilisation:ratio", 0.8),
        ("0.8x10 0.4x10", "4x20", "utilisation:ratio", None),
        ("0.8x10 stale", "4x10 stale", "utilisation:ratio", 0.8),
        ("0.8x10 stale", "4x10 stale", "utilisation:last1h", None),
    ],
    ids=[
        "as it was",
        "a little less",
        "half of the agents are gone",
        "a new client has no agent",
        "all agents are gone",
        "OCI does not tell the load",
    ],
)
def test_coverage_that_fell_with_the_agents_shows_what_it_was(
    tmp_path: Path, coverage: str, clients: str, told: str, was: float | None
) -> None:
    labels = 'region="r", mount_target_id="m", mount_target="m"'
    series = {
        f"mount_target:fss_client_coverage:ratio{{{labels}}}": coverage,
        f"mount_target:fss_clients:count{{{labels}}}": clients,
    }
    rule = RECORDED["mount_target:fss_client_coverage_lost:p90_1d"]

    ask(tmp_path, series | _share(told, "m", 0.5), [(rule, [] if was is None else [(f"{{{labels}}}", was)])])


def test_two_networks_with_one_address_are_two_mount_targets(tmp_path: Path) -> None:
    client = _column("client")
    row = 'address="10.0.0.1", network="%s", region="%s", mount_target_id="%s", mount_target="mt"'
    series = {}
    for region in ("a", "b"):
        series[f"mount_target:fss_mount_target:info{{{row % (region, region, region)}}}"] = "1x20"
        series[f"address:fss_mount_target:info{{{row % (region, region, region)}}}"] = "1x20"
        of_client = f'network="{region}", address="10.0.0.1", instance="host-{region}"'
        series[f"client:fss_client_estimated_iops:topk20_rate5m{{{of_client}}}"] = "7x20"

    ask(
        tmp_path,
        series,
        [
            (
                f"count by (region, client) ({client})",
                [('{region="a", client="host-a"}', 1), ('{region="b", client="host-b"}', 1)],
            )
        ],
    )


@pytest.mark.parametrize(
    ("state", "more", "todo"),
    [
        (State.FINE, {}, f"{State.FINE:d}"),
        (State.NEAR, {}, f"{State.NEAR:d}"),
        (State.NEAR, {"mount_target:fss_mount_targets_needed:count": 2}, "needs 2 mount targets"),
        (State.FAILING, {"mount_target:fss_mount_targets_needed:count": 2}, f"{State.FAILING:d}"),
        (State.NOT_KNOWN, {"mount_target:fss_client_coverage_lost:p90_1d": 0.8}, "find the lost agents"),
    ],
)
def test_what_now_is_a_step_in_words(tmp_path: Path, state: State, more: Mapping[str, float], todo: str) -> None:
    (expr,) = (expr for expr in expressions(panel_of("fleet", _TABLE)) if '"todo"' in expr)
    labels = 'region="r", mount_target_id="m", mount_target="m"'
    series = _row("m") | {f"mount_target:fss_state:max{{{labels}}}": f"{state}x20"}
    series |= {f"{name}{{{labels}}}": f"{value}x20" for name, value in more.items()}

    ask(tmp_path, series, [(f"count by (mount_target, todo) ({expr})", [(f'{{mount_target="m", todo="{todo}"}}', 1)])])


_OF_OCI = 'job="p", region="r", mount_target_id="ocid1.mt", mount_target="mt"'
_OF_CLIENT = 'job="a", network=".*", address="10.0.0.1", instance="host-1"'
_WORST = 'mount_target:fss_state:max{region="r", mount_target_id="ocid1.mt", mount_target="mt"}'
_FAILING_BY_OCI = {
    f"fss_mount_target_state{{{_OF_OCI}}}": "4x20",
    f"fss_mount_target_state_age_seconds{{{_OF_OCI}}}": "1080x20",
    f'fss_mount_target_state_evidence_ratio{{{_OF_OCI}, state="failing", subject="failed requests"}}': "5x20",
}
_HANGING_BY_CLIENTS = {
    f"fss_client_address_state{{{_OF_CLIENT}}}": "5x20",
    f"fss_client_address_state_age_seconds{{{_OF_CLIENT}}}": "10800x20",
    f'fss_client_address_state_evidence_ratio{{{_OF_CLIENT}, state="hanging", subject="requests without a reply"}}': "9x20",
}


@pytest.mark.parametrize(
    ("series", "state", "said"),
    [
        (_FAILING_BY_OCI, State.FAILING, "5 %, 18 min"),
        (_FAILING_BY_OCI | _HANGING_BY_CLIENTS, State.HANGING, "3 h"),
        (
            {
                f"fss_mount_target_state{{{_OF_OCI}}}": "0x20",
                f"fss_mount_target_state_age_seconds{{{_OF_OCI}}}": "600x20",
            },
            State.FINE,
            "10 min",
        ),
    ],
    ids=["OCI tells failed requests", "clients hang while OCI tells failed requests", "fine"],
)
def test_the_first_tile_is_the_state_with_share_and_age_of_the_side_that_gives_it(
    tmp_path: Path, series: Mapping[str, str], state: State, said: str
) -> None:
    first, *_ = (panel for panel in PANELS if panel.file == "mount-target.json")
    (expr,) = expressions_with("mount-target", "State", {**CHOSEN, "mount_network": ".*"})

    assert first.title == "State"
    ask(tmp_path, {_WORST: f"{state}x20", **series}, [(expr, [(f'{{said="{said}"}}', state)])])


def test_the_fleet_says_since_when_a_mount_target_is_in_its_state(tmp_path: Path) -> None:
    (since,) = (substituted(expr) for _, expr, name in panel_of("fleet", _TABLE).queries() if name == "since")
    series = _row("ocid1.mt") | {_WORST: "4x20"} | _FAILING_BY_OCI

    ask(tmp_path, series, [(f"sum by (mount_target_id) ({since})", [('{mount_target_id="ocid1.mt"}', 1080)])])


def test_every_state_has_the_word_of_the_model() -> None:
    assert {value: word for value, (word, _) in STATE_WORDS.items()} == {
        str(state.value): state.word for state in State
    }


def test_while_all_clients_are_chosen_no_panel_reads_their_counters(tmp_path: Path) -> None:
    _, operations = expressions_with("clients", "Operations by cost", {})
    counter = 'fss_client_operations_total{network="n", address="10.0.0.1", instance="a", operation="GETATTR"}'

    ask(tmp_path, {counter: "0+60x20"}, [(operations, [])])


@pytest.mark.parametrize("title", ["Operations by cost", "Cost by class, chosen clients", "Top mounts now"])
def test_a_client_that_two_jobs_scrape_costs_once(tmp_path: Path, title: str) -> None:
    first, *_ = expressions_with("clients", title, {"client": "a"})
    labels = 'network="n", address="10.0.0.1", instance="a", server="s", export="/e"'
    series = {'operation:fss_io_operations_per_operation:ratio{operation="GETATTR"}': "1x20"}
    for job in "ab":
        series |= {
            f'fss_client_operations_total{{job="{job}", {labels}, operation="GETATTR"}}': "0+60x20",
            f'fss_client_estimated_io_operations_total{{job="{job}", {labels}, class="metadata_read"}}': "0+60x20",
        }

    ask(tmp_path, series, [(f"sum({first})", [("{}", 1)])])


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ("file-systems", "File systems: load, size and growth"),
        ("mount-target", "File systems behind this mount target"),
    ],
)
def test_what_two_pollers_in_two_pods_say_of_a_file_system_counts_once(tmp_path: Path, file: str, title: str) -> None:
    _, reads, *_ = expressions(panel_of(file, title))
    labels = 'region="r", mount_target_id="ocid1.mt", file_system_id="f", file_system="f", size="0B_to_8KiB"'
    series = {
        f'fss_file_system_read_requests_per_second{{job="p", instance="{pod}", pod="{pod}", {labels}}}': "7x20"
        for pod in "ab"
    }

    ask(tmp_path, series, [(f"sum({reads})", [("{}", 7)])])


def test_what_two_pollers_in_two_pods_say_is_recorded_once(tmp_path: Path) -> None:
    name = "file_system:fss_file_system_requests_per_second:sum"
    (rule,) = (rule for rule in rules_of(RULES / "panels.yml") if rule.name == name)
    labels = 'region="r", mount_target_id="m", file_system_id="f", file_system="f", size="0B_to_8KiB"'
    series = {
        f'fss_file_system_{kind}_requests_per_second{{job="p", instance="{pod}", pod="{pod}", {labels}}}': "7x20"
        for kind in ("read", "write")
        for pod in "ab"
    }

    ask(tmp_path, series, [(f"sum({rule.expr})", [("{}", 14)])])


def test_the_first_mount_targets_are_those_of_the_chosen_compartment(tmp_path: Path) -> None:
    (busiest,) = expressions_with("fleet", "Fullest mount targets: top $top", {"compartment": "small"})
    series = {}
    for at in range(11):
        compartment, labels = (
            ("small" if at == 0 else "large"),
            f'region="r", mount_target_id="{at}", mount_target="{at}"',
        )
        series[f'mount_target:fss_mount_target:info{{{labels}, compartment="{compartment}"}}'] = "1x20"
        series[f"mount_target:fss_utilisation:max{{{labels}}}"] = f"{at / 20}x20"

    shown = '{mount_target="0", mount_target_id="0", region="r"}'
    ask(tmp_path, series, [(busiest, [(shown, 0)])])


def test_a_mount_target_without_an_address_has_no_budget_of_another_one(tmp_path: Path) -> None:
    series = {'slo:fss_error_budget_left:ratio{mount_target_id="other", objective="latency", source="oci"}': "0.1x20"}
    chosen = {"mount_target": "ocid1.mt", "mount_address": "", "mount_network": ""}
    left, *_ = expressions_with("mount-target", "Objectives and their budgets", chosen)

    ask(tmp_path, series, [(left, [])])


def test_the_top_clients_are_those_of_the_chosen_mount_targets(tmp_path: Path) -> None:
    series = {}
    for name in ("small", "large"):
        labels = f'tenancy="t", region="r", mount_target_id="{name}", mount_target="{name}"'
        of_address = f'network="r", address="{name}"'
        series[f'mount_target:fss_mount_target:info{{{labels}, compartment="{name}"}}'] = "1x20"
        series[f"address:fss_mount_target:info{{{labels}, {of_address}}}"] = "1x20"
        series[f'client:fss_client_estimated_iops:topk20_rate5m{{instance="i", {of_address}}}'] = "5x20"
    (clients,) = (
        expr
        for expr in expressions_with("fleet", "Mount targets: how close, who, what now", {"compartment": "small"})
        if '"shown_client", "$1"' in expr
    )

    ask(tmp_path, series, [(f"count by (mount_target) ({clients})", [('{mount_target="small"}', 1)])])


def test_pollers_of_one_name_in_two_clusters_have_a_budget_each(tmp_path: Path) -> None:
    (share,) = expressions_with("exporter", "API budget in use", {})
    series = {}
    for cluster, calls in (("x", 60), ("y", 120)):
        labels = f'job="fss", instance="poller", tenancy="t", cluster="{cluster}"'
        series[f"fss_oci_api_requests_total{{{labels}}}"] = f"0+{calls}x20"
        series[f"fss_oci_api_budget_requests_per_second{{{labels}}}"] = "10x20"

    ask(tmp_path, series, [(share, [('{instance="poller"}', 0.2)])])
