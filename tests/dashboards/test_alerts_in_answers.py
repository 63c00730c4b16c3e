"""Tables of firing alerts: subject, state and link of each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import promql_parser
import pytest
from tests.artefacts.promql import substituted
from tests.artefacts.test_rules import ALERTS, names
from tests.dashboards.asked import OF_2016, ask, expressions, expressions_with, panel_of
from tests.rules.pack import Rule
from tools.dashboards.alerts import firing_alerts

from fss_exporter.model.state import State


def firing(labels: str) -> dict[str, str]:
    """The series of an alert that fires since the begin."""
    return {f'ALERTS{{{labels}, alertstate="firing"}}': "1x20", f"ALERTS_FOR_STATE{{{labels}}}": "0x20"}


def _links(rule: Rule) -> Iterator[tuple[dict[str, str], str, str, str]]:
    """Labels of an alert with dashboard, variable and value of its link. Twice, where servers that are no mount target have one."""
    url = rule.annotations["dashboard_url"]
    labels = {label: f"a-{label}" for label in names().series(promql_parser.parse(rule.expr)).labels}
    labels |= {"alertname": rule.name, "severity": rule.labels["severity"]}
    choice = re.fullmatch(r"\{\{ if \$labels\.mount_target_id \}\}(.+)\{\{ else \}\}(.+)\{\{ end \}\}", url)
    without = {key: value for key, value in labels.items() if key != "mount_target_id"}
    for own, link in ((labels, choice[1]), (without, choice[2])) if choice else ((labels, url),):
        uid, variable, value = re.fullmatch(
            r"/d/([\w-]+)(?:\?(?:.+&)?var-(\w+)=\{\{ \$labels\.(\w+) \}\})?", link
        ).groups()  # type: ignore[union-attr]  # fails well
        name = value or next((name for name in ("region", "job") if name in own), "")
        yield own, uid, variable or name or "-", own.get(name, "-")


def test_a_click_on_an_alert_leads_where_the_alert_itself_links_to(tmp_path: Path) -> None:
    expr = substituted(firing_alerts("Alerts", "", 'alertname=~"Fss.+"').body["targets"][0]["expr"])

    for rule in ALERTS:
        for own, uid, variable, value in _links(rule):
            labels = ", ".join(f'{key}="{value}"' for key, value in own.items())
            link = f'{{alertname="{rule.name}", chosen="{value}", dashboard="{uid}", variable="{variable}"}}'
            ask(
                tmp_path, firing(labels), [(f"count by (alertname, dashboard, variable, chosen) ({expr})", [(link, 1)])]
            )


_ALERT = firing('alertname="FssExporterDown", severity="warning"')


@pytest.mark.parametrize(
    ("file", "title"), [("mount-target", "Alerts of this mount target"), ("clients", "Alerts of clients")]
)
def test_a_dashboard_without_anything_to_choose_shows_no_other_alerts(tmp_path: Path, file: str, title: str) -> None:
    nothing = {"mount_target": "", "mount_address": "", "address": "()"}

    ask(tmp_path, _ALERT, [(substituted(expr, nothing), []) for _, expr, _ in panel_of(file, title).queries()])


def test_an_alert_without_labels_has_a_subject_to_click(tmp_path: Path) -> None:
    _, expr, _ = expressions(panel_of("fleet", "Firing alerts"))

    ask(tmp_path, _ALERT, [(f"count by (subject) ({expr})", [('{subject="all"}', 1)])])


def test_the_most_severe_alert_comes_first() -> None:
    body = firing_alerts("Alerts", "", 'alertname=~"Fss.+"').body

    assert sorted({rule.labels["severity"] for rule in ALERTS}) == ["critical", "warning"]
    assert body["options"]["sortBy"] == [{"desc": False, "displayName": "Severity"}]


_OF_CLIENT = 'network="r", address="10.0.0.1", instance="host-1"'
_OF_NAMED = 'region="r", mount_target_id="1"'


@pytest.mark.parametrize(
    ("labels", "subject"),
    [
        ('alertname="FssReplicationBehind", region="r", replication_id="1"', "to-zurich"),
        ('alertname="FssReplicationBehind", region="r", replication_id="2"', "r"),
        ('alertname="FssMountTargetSlow", region="r", mount_target_id="1", address="10.0.0.1"', "mt-home"),
        (f'alertname="FssClientStalled", {_OF_CLIENT}', "host-1 10.0.0.1"),
        (f'alertname="FssClientStalled", {_OF_CLIENT}, {_OF_NAMED}', "host-1 mt-home"),
        ('alertname="FssClientNetworkHigh", instance="host-1"', "host-1"),
        ('alertname="FssAddressUtilisationHigh", network="r", address="10.0.0.2"', "10.0.0.2"),
        ('alertname="FssAgentsMissing", job="agents"', "agents"),
        ('alertname="FssCollectorFailing", job="agents", instance="host-1", collector="nfs"', "host-1"),
        ('alertname="FssOciDataLate", region="r", tenancy="acme"', "r acme"),
        ('alertname="FssOciDataLate", region="r", tenancy="ocid1.tenancy.oc1..aaaabbbbcccc"', "r bbcccc"),
        (f'alertname="FssOciDataLate", region="r", tenancy="{OF_2016}"', "r bbcccc"),
        ('alertname="FssExporterDown"', "all"),
    ],
)
def test_the_subject_of_an_alert_is_what_people_call_it(tmp_path: Path, labels: str, subject: str) -> None:
    _, expr, _ = expressions(panel_of("fleet", "Firing alerts"))
    series = firing(f'{labels}, severity="warning"') | {
        'resource:fss_name:info{region="r", replication_id="1", name="to-zurich"}': "1x20",
        f'mount_target:fss_mount_target:info{{{_OF_NAMED}, mount_target="mt-home"}}': "1x20",
    }

    ask(tmp_path, series, [(f"count by (subject) ({expr})", [(f'{{subject="{subject}"}}', 1)])])


def test_an_alert_about_five_parts_of_one_job_is_one_row_with_its_first_minute(tmp_path: Path) -> None:
    since, subject, state = expressions(panel_of("fleet", "Firing alerts"))
    (warnings,) = expressions(panel_of("fleet", "Warnings"))
    series = {"fss_agents:count": "1x20"}
    for at in range(5):
        labels = f'alertname="FssCoverageIncomplete", job="fss", severity="warning", part="{at}"'
        series |= firing(labels) | {f"ALERTS_FOR_STATE{{{labels}}}": f"{60 * at}x20"}

    rows = [(f"sum({since})", [("{}", 20 * 60)]), (f"count({subject})", [("{}", 1)]), (state, [])]
    ask(tmp_path, series, [*rows, (f"sum({warnings})", [("{}", 1)])])


@pytest.mark.parametrize(
    ("labels", "state"),
    [
        ('alertname="FssMountTargetSlow", region="r", mount_target_id="1", address="10.0.0.1"', State.NOT_KNOWN),
        (f'alertname="FssClientStalled", {_OF_CLIENT}, {_OF_NAMED}', State.HANGING),
        ('alertname="FssMountTargetDown", network="r", address="10.0.0.1"', State.FAILING),
        ('alertname="FssAgentsMissing", job="agents"', None),
    ],
)
def test_an_alert_shows_the_state_of_what_it_is_about(tmp_path: Path, labels: str, state: State | None) -> None:
    *_, expr = expressions(panel_of("fleet", "Firing alerts"))
    series = firing(f'{labels}, severity="warning"') | {
        f'mount_target:fss_state:worst{{{_OF_NAMED}, mount_target="mt-home"}}': f"{State.NOT_KNOWN}x20",
        'address:fss_state:worst{network="r", address="10.0.0.1"}': f"{State.FAILING}x20",
        f'fss_client_address_state{{job="a", {_OF_CLIENT}}}': f"{State.HANGING}x20",
        'fss_client_address_state{job="a", network="r", address="10.0.0.1", instance="host-2"}': "0x20",
    }

    ask(tmp_path, series, [(f"sum({expr})", [] if state is None else [("{}", state)])])


@pytest.mark.parametrize(
    ("file", "title", "alert", "chosen"),
    [
        ("clients", "Alerts of clients", 'alertname="FssClientNetworkHigh", instance="host-1"', {"client": "host-1"}),
        ("file-systems", "Alerts of file systems", 'alertname="FssOciPollerDown", region="r", instance="p"', {}),
        (
            "mount-target",
            "Alerts of this mount target",
            'alertname="FssOciPollerDown", region="r", instance="p"',
            {"mount_target": "ocid1.mt"},
        ),
    ],
)
def test_an_alert_that_makes_the_rest_of_a_dashboard_doubtful_is_among_its_alerts(
    tmp_path: Path, file: str, title: str, alert: str, chosen: Mapping[str, str]
) -> None:
    expr, *_ = expressions_with(file, title, chosen)

    ask(tmp_path, firing(alert), [(f"count({expr})", [("{}", 1)])])
