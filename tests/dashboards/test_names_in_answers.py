"""Names of tenancies, mount targets, file systems and clients in menus and tables: each is found, and none stands for two things."""

import json
import re
from pathlib import Path

import pytest
from tests.artefacts.promql import substituted
from tests.artefacts.shipped_dashboards import PANELS, variables
from tests.dashboards.asked import (
    OF_2016,
    RECORDED,
    STALE,
    ask,
    computed,
    expressions,
    expressions_with,
    offered,
    panel_of,
)


def test_a_tenancy_without_a_name_is_shown_by_the_tail_of_its_ocid() -> None:
    patterns = [
        mapping["options"]["pattern"]
        for panel in PANELS
        for override in panel.body["fieldConfig"]["overrides"]
        if panel.body["type"] == "table" and override["matcher"]["options"] == "tenancy"
        for entry in override["properties"]
        if entry["id"] == "mappings"
        for mapping in entry["value"]
        if mapping["type"] == "regex"
    ]

    assert len(patterns) == 4
    for ocid in ("ocid1.tenancy.oc1..aaaabbbbcccc", OF_2016):
        assert {re.sub(pattern[1:-1], r"\1", ocid) for pattern in patterns} == {"bbcccc"}


@pytest.mark.parametrize(
    ("tenancy", "text"),
    [("acme", "acme"), ("ocid1.tenancy.oc1..aaaabbbbcccc", "bbcccc"), (OF_2016, "bbcccc"), ("o", "o")],
)
def test_the_menu_of_tenancies_has_names_or_else_tails_of_ocids(tenancy: str, text: str) -> None:
    pattern = variables("fleet.json")["tenancy"]["regex"].strip("/").replace("(?<", "(?P<")
    chosen = re.search(pattern, f'{{tenancy="{tenancy}"}} 1 1700000000000')

    assert chosen is not None
    assert chosen.groupdict() == {"text": text, "value": tenancy}


def test_the_networks_and_clients_of_other_regions_are_not_offered(tmp_path: Path) -> None:
    series = {
        'address:fss_mount_target:info{network="r1", region="r1", address="10.0.0.1", mount_target="mt-1"}': "1x20",
        'address:fss_mount_target:info{network="r2", region="r2", address="10.0.0.2", mount_target="mt-2"}': "1x20",
        'address:fss_client_estimated_iops:rate5m{network="r1", address="10.0.0.1"}': "5x20",
        'address:fss_client_estimated_iops:rate5m{network="r2", address="10.0.0.2"}': "5x20",
        'address:fss_clients:count{network="dc", address="10.0.0.3"}': "5x20",
    }
    chosen = {"region": "r1", "network": "(r1|dc)"}
    of_r1 = [('{address="10.0.0.1", mount_target="mt-1"}', 1), ('{address="10.0.0.3"}', 1)]

    ask(
        tmp_path,
        series,
        [
            (substituted(offered("clients", "network"), chosen), [('{network="r1"}', 1), ('{network="dc"}', 1)]),
            (substituted(offered("clients", "address"), chosen), of_r1),
        ],
    )


def test_of_two_tenancies_in_one_region_the_chosen_one_is_shown_and_a_series_without_tenancy_while_all_are_chosen(
    tmp_path: Path,
) -> None:
    of_region = 'region="r", mount_target_id="%s", mount_target="%s"'
    series = {}
    for tenancy in ("acme", "beta", ""):
        labels = of_region % (f"mt-{tenancy}", f"mt-{tenancy}") + (f', tenancy="{tenancy}"' if tenancy else "")
        series[f"mount_target:fss_mount_target:info{{{labels}}}"] = "1x20"
    mount_targets = offered("mount-target", "mount_target")

    def rows(*names: str) -> list[tuple[str, float]]:
        return [(f'{{mount_target="mt-{name}", mount_target_id="mt-{name}"}}', 0.0) for name in names]

    asked = [
        (substituted(mount_targets, {"tenancy": "beta"}), rows("beta")),
        (substituted(mount_targets, {"tenancy": "acme"}), rows("acme")),
        (substituted(mount_targets), rows("acme", "beta", "")),
    ]
    ask(tmp_path, series, asked)


def test_a_mount_target_of_a_dead_poller_is_offered(tmp_path: Path) -> None:
    mount_targets = offered("mount-target", "mount_target")
    row = 'region="r", mount_target="mt", mount_target_id="1", address="10.0.0.1"'
    series = {f"fss_mount_target_info{{{row}}}": STALE, f"mount_target:fss_mount_target:info{{{row}}}": "1x20"}

    ask(tmp_path, series, [(substituted(mount_targets), [('{mount_target="mt", mount_target_id="1"}', 0)])])


def test_the_worst_mount_target_is_offered_first_and_among_equals_the_fullest(tmp_path: Path) -> None:
    labels = 'region="r", mount_target_id="%s", mount_target="%s"'
    series = {}
    for name, state, share in (("calm", 0, 0.9), ("near", 2, 0.85), ("nearer", 2, 0.95), ("failing", 4, 0.1)):
        series[f"mount_target:fss_state:max{{{labels % (name, name)}}}"] = f"{state}x20"
        series[f"mount_target:fss_fullest_ceiling:max{{{labels % (name, name)}}}"] = f"{share}x20"
    urgent = offered("mount-target", "mount_target")

    assert urgent.startswith("sort_desc(")
    ranks = [
        (f'{{mount_target="{name}", mount_target_id="{name}"}}', rank)
        for name, rank in (("failing", 4.05), ("nearer", 2.475), ("near", 2.425), ("calm", 0.45))
    ]
    ask(tmp_path, series, [(substituted(urgent), ranks)])


_SAME_NAME = 'fss_mount_target_info{job="p", instance="p", tenancy="%s", region="%s", mount_target_id="%d", mount_target="%s", address="10.0.0.%d"}'


def test_a_name_that_repeats_has_its_place_behind_it(tmp_path: Path) -> None:
    places = [
        ("acme", "r1", "home", "home, r1"),
        ("acme", "r2", "home", "home, acme"),
        (OF_2016, "r2", "home", "home, bbcccc"),
        ("acme", "r1", "twin", "twin, 10.0.0.3"),
        ("acme", "r1", "twin", "twin, 10.0.0.4"),
        ("acme", "r1", "alone", "alone"),
    ]
    series = {
        _SAME_NAME % (tenancy, region, at, name, at): "1x20" for at, (tenancy, region, name, _) in enumerate(places)
    }
    series |= {
        f'fss_oci_poll_timestamp_seconds{{job="p", instance="p", tenancy="{tenancy}", region="{region}"}}': "0+60x20"
        for tenancy, region, _, _ in places
    }
    listed = computed(RECORDED["mount_target:fss_mount_target:info"], "mount_target:fss_mount_target_info:last6h")
    named = [(f'{{mount_target="{name}"}}', 1) for *_, name in places]

    ask(tmp_path, series, [(f"count by (mount_target) ({listed})", named)])


@pytest.mark.parametrize(
    ("series", "key", "label"),
    [
        ("fss_file_system_info", "file_system_id", "file_system"),
        ("fss_export_info", "file_system_id", "file_system"),
        ("fss_replication_info", "replication_id", "replication"),
        ("fss_service_resource_info", "resource_id", "resource"),
    ],
)
def test_a_name_of_a_file_system_replication_or_volume_that_repeats_has_its_place_behind_it(
    tmp_path: Path, series: str, key: str, label: str
) -> None:
    places = [
        ("acme", "r1", "home", "home, r1"),
        ("acme", "r2", "home", "home, acme"),
        (OF_2016, "r2", "home", "home, bbcccc"),
        ("acme", "r1", "twin", "twin, 000004"),
        ("acme", "r1", "twin", "twin, 000005"),
        ("acme", "r1", "alone", "alone"),
    ]
    rows = {
        f'{series}{{instance="{pod}", tenancy="{tenancy}", region="{region}", {key}="ocid1.x..{at + 1:06}", {label}="{name}"}}': "1x20"
        for pod in "ab"
        for at, (tenancy, region, name, _) in enumerate(places)
    }
    rows['fss_file_system_info{file_system_id="ocid1.f", file_system="other"}'] = "1x20"
    rows['fss_replication_info{replication_id="ocid1.r", replication="other"}'] = "1x20"  # another kind of thing
    listed = computed(RECORDED["resource:fss_name:info"], "resource:fss_name:group")
    named = [(f'{{name="{name}"}}', 1) for *_, name in places]

    ask(tmp_path, rows, [(f"count by (name) ({listed})", [*named, ('{name="other"}', 2)])])


def test_the_rows_of_the_table_of_file_systems_are_file_systems(tmp_path: Path) -> None:
    rows, *_ = expressions(panel_of("file-systems", "File systems: load, size and growth"))
    names = (
        'file_system_id="f", name="homes"',
        'replication_id="r", name="to-zurich"',
        'resource_id="l", name="scratch"',
    )

    ask(
        tmp_path,
        {f"resource:fss_name:info{{{labels}}}": "1x20" for labels in names},
        [(rows, [(f"{{{names[0]}}}", 1)])],
    )


@pytest.mark.parametrize(
    ("file", "title", "series", "legend"),
    [
        ("file-systems", "Imbalance", 'file_system:fss_utilisation_imbalance:ratio{file_system_id="f"}', "homes"),
        (
            "file-systems",
            "Exports and their mount targets",
            'fss_export_info{file_system_id="f", export="/e"}',
            "homes",
        ),
        ("fleet", "Lustre: top $top", 'service:fss_utilisation:ratio{service="lustre", resource_id="l"}', "scratch"),
    ],
)
def test_a_name_is_found_among_those_of_all_kinds_of_resources(
    tmp_path: Path, file: str, title: str, series: str, legend: str
) -> None:
    (expr,) = expressions(panel_of(file, title))
    names = {"file_system_id": ("f", "homes"), "replication_id": ("r", "to-zurich"), "resource_id": ("l", "scratch")}
    rows = {f'resource:fss_name:info{{{key}="{ocid}", name="{name}"}}': "1x20" for key, (ocid, name) in names.items()}

    ask(tmp_path, rows | {series: "1x20"}, [(f"count by (name) ({expr})", [(f'{{name="{legend}"}}', 1)])])


def test_a_client_that_is_chosen_hides_no_other_client_whose_name_goes_on(tmp_path: Path) -> None:
    _, operations = expressions_with("clients", "Operations by cost", {"client": "(batch-1|batch-10)"})
    counter = 'fss_client_operations_total{network="n", address="10.0.0.1", instance="%s", operation="GETATTR"}'
    series = {counter % name: "0+60x20" for name in ("batch-1", "batch-10", "batch-100")}

    ask(tmp_path, series, [(operations, [('{operation="GETATTR"}', 2)])])


@pytest.mark.parametrize(("column", "name"), [("week", "ratio"), ("forecast", "forecast14d")])
def test_a_mount_target_that_was_renamed_has_one_row(tmp_path: Path, column: str, name: str) -> None:
    (expr,) = (
        substituted(expr.replace("offset 1w", "offset 5m"))
        for panel in PANELS
        for _, expr, legend in panel.queries()
        if panel.file == "fleet.json" and panel.body["type"] == "table" and legend == column
    )
    labels = 'region="r", mount_target_id="m", mount_target="%s"'
    series = {
        f"mount_target:fss_mount_target:info{{{labels % 'new'}}}": "1x20",
        f'mount_target_resource:fss_utilisation:{name}{{{labels % "old"}, resource="iops"}}': "2x20",
    }

    ask(tmp_path, series, [(expr, [('{mount_target="new", mount_target_id="m", region="r"}', 2)])])


def test_a_link_to_a_client_names_its_network_because_two_networks_can_have_one_address() -> None:
    links = {
        link
        for panel in PANELS
        for link in re.findall(r'"(/d/fss-clients\?[^"]*var-client=[^"]*)"', json.dumps(panel.body))
    }

    assert len(links) == 2
    assert all("var-network=${__data.fields.of_network}" in link for link in links)
