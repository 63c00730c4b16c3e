"""Tables of firing alerts: subject, state and link of each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import promql_parser
import pytest
from tests.artefacts.promql import substituted
from tests.artefacts.test_rules import ALERTS, names
from tests.dashboards.asked import OF_2016, STALE, ask, expressions, expressions_with, panel_of
from tests.rules.pack import Rule
from tools.generate.dashboards.alert_figures import ABOUT_A_STATE, FIGURES
from tools.generate.dashboards.alerts import ORDER, firing_alerts

from fss_exporter.model.state import SUBJECTS, SUBJECTS_OF_HOSTS, State


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
    _, since, *_ = firing_alerts("Alerts", "", 'alertname=~"Fss.+"').body["targets"]
    expr = substituted(since["expr"])

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

    *queries, _ = panel_of(file, title).queries()

    ask(tmp_path, _ALERT, [(substituted(expr, nothing), []) for _, expr, _ in queries])


def test_an_alert_without_labels_has_a_subject_to_click(tmp_path: Path) -> None:
    *_, expr, _, _ = expressions(panel_of("fleet", "Firing alerts"))

    ask(tmp_path, _ALERT, [(f"count by (subject) ({expr})", [('{subject="all"}', 1)])])


def test_what_users_feel_comes_first_and_then_the_cause_before_what_follows_from_it(tmp_path: Path) -> None:
    order, *_ = expressions(panel_of("fleet", "Firing alerts"))
    rows = [
        'alertname="FssMountTargetDown", severity="critical"',
        'alertname="FssOciCredentialsRefused", severity="warning"',
        'alertname="FssOciPollerDown", severity="critical"',
        'alertname="FssCollectorFailing", severity="warning", collector="oci"',
        'alertname="FssOciDataLate", severity="critical"',
        'alertname="FssCoverageIncomplete", severity="warning"',
    ]
    series: dict[str, str] = {}
    for labels in rows:
        series |= firing(labels)

    wanted = [
        (f'{{alertname="{alert}"}}', rank) for rank, alert in enumerate(re.findall(r'alertname="(\w+)"', str(rows)))
    ]
    ask(tmp_path, series, [(f"sum by (alertname) ({order})", wanted)])


def test_every_alert_that_the_order_and_the_figures_name_exists() -> None:
    every = {rule.name for rule in ALERTS}
    ordered = [
        pattern for group in ORDER for matchers in group for pattern in re.findall(r'alertname=~"(.+?)"', matchers)
    ]
    named = [part for pattern in (*ordered, *(figure.alert for figure in FIGURES)) for part in pattern.split("|")]

    assert [part for part in named if not any(re.fullmatch(part, name) for name in every)] == []


@pytest.mark.parametrize(
    ("there", "missing"),
    [
        ({}, {"The rules are not loaded", "No poller", "No agent"}),
        (
            {"fss_mount_target_info": "1x20", "fss_oci_poll_timestamp_seconds": "1x20"},
            {"The rules are not loaded", "No agent"},
        ),
        ({"fleet:fss_agents:count": "1x20", 'fss_client_unanswered_seconds{instance="a"}': "0x20"}, {"No poller"}),
        (
            {"fleet:fss_agents:count": "0x20", 'client:fss_client_estimated_iops:rate5m{instance="a"}': "5x20"},
            {"No poller"},
        ),
        ({"fleet:fss_agents:count": "0x20", "fss_oci_poll_timestamp_seconds": STALE}, {"No agent"}),
    ],
    ids=["nothing", "a poller without rules", "agents alone", "node_exporter alone", "a poller that died today"],
)
def test_a_part_of_the_monitoring_that_is_missing_is_a_row_with_the_way_to_add_it(
    tmp_path: Path, there: Mapping[str, str], missing: set[str]
) -> None:
    *_, rows = expressions(panel_of("fleet", "Firing alerts"))

    counted = (
        f'count by (alertname) (({rows}) and on (subject) label_replace(({rows}), "subject", "$1", "subject", "(.+)"))'
    )
    ask(tmp_path, there, [(counted, [(f'{{alertname="{name}"}}', 1) for name in sorted(missing)])])


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
        ('alertname="FssExporterDown", job="agents"', "agents"),
        ('alertname="FssCollectorFailing", job="agents", instance="host-1", collector="nfs"', "host-1"),
        ('alertname="FssOciDataLate", region="r", tenancy="acme"', "r acme"),
        ('alertname="FssOciDataLate", region="r", tenancy="ocid1.tenancy.oc1..aaaabbbbcccc"', "r bbcccc"),
        (f'alertname="FssOciDataLate", region="r", tenancy="{OF_2016}"', "r bbcccc"),
        ('alertname="FssExporterDown"', "all"),
    ],
)
def test_the_subject_of_an_alert_is_what_people_call_it(tmp_path: Path, labels: str, subject: str) -> None:
    *_, expr, _, _ = expressions(panel_of("fleet", "Firing alerts"))
    series = firing(f'{labels}, severity="warning"') | {
        'resource:fss_name:info{region="r", replication_id="1", name="to-zurich"}': "1x20",
        f'mount_target:fss_mount_target:info{{{_OF_NAMED}, mount_target="mt-home"}}': "1x20",
    }

    ask(tmp_path, series, [(f"count by (subject) ({expr})", [(f'{{subject="{subject}"}}', 1)])])


def test_an_alert_about_five_parts_of_one_job_is_one_row_with_its_first_minute(tmp_path: Path) -> None:
    order, since, subject, now, _ = expressions(panel_of("fleet", "Firing alerts"))
    (warnings,) = expressions(panel_of("fleet", "Warnings"))
    series = {"fleet:fss_agents:count": "1x20"}
    for at in range(5):
        labels = f'alertname="FssCoverageIncomplete", job="fss", severity="warning", part="{at}"'
        series |= firing(labels) | {f"ALERTS_FOR_STATE{{{labels}}}": f"{60 * at}x20"}

    rows = [
        (f"count({order})", [("{}", 1)]),
        (f"sum({since})", [("{}", 20 * 60)]),
        (f"count({subject})", [("{}", 1)]),
        (now, []),
    ]
    ask(tmp_path, series, [*rows, (f"sum({warnings})", [("{}", 1)])])


@pytest.mark.parametrize(
    ("labels", "state"),
    [
        ('alertname="FssMountTargetSlow", region="r", mount_target_id="1", address="10.0.0.1"', State.NOT_KNOWN),
        (f'alertname="FssClientStalled", {_OF_CLIENT}, {_OF_NAMED}', State.HANGING),
        ('alertname="FssMountTargetDown", network="r", address="10.0.0.1"', State.FAILING),
        ('alertname="FssExporterDown", job="agents"', None),
        ('alertname="FssLdapErrors", region="r", mount_target_id="1"', None),
        (f'alertname="FssClientRetransmissions", {_OF_CLIENT}, {_OF_NAMED}', None),
    ],
)
def test_an_alert_about_a_state_shows_the_state_of_its_subject_and_any_other_shows_none(
    tmp_path: Path, labels: str, state: State | None
) -> None:
    *_, expr, _ = expressions(panel_of("fleet", "Firing alerts"))
    series = firing(f'{labels}, severity="warning"') | {
        f'mount_target:fss_state:max{{{_OF_NAMED}, mount_target="mt-home"}}': f"{State.NOT_KNOWN}x20",
        'address:fss_state:max{network="r", address="10.0.0.1"}': f"{State.FAILING}x20",
        f'fss_client_address_state{{job="a", {_OF_CLIENT}}}': f"{State.HANGING}x20",
        'fss_client_address_state{job="a", network="r", address="10.0.0.1", instance="host-2"}': "0x20",
    }

    ask(tmp_path, series, [(f"count by (now) ({expr})", [] if state is None else [(f'{{now="{state:d}"}}', 1)])])


@pytest.mark.parametrize(
    ("labels", "figures", "now"),
    [
        (
            'alertname="FssOciDataLate", region="r"',
            {'poller:fss_oci_data_age_seconds:min{job="p", region="r"}': "1320x20"},
            "22 min",
        ),
        (
            f'alertname="FssClientRetransmissions", {_OF_CLIENT}, {_OF_NAMED}',
            {f"client:fss_client_retransmissions:ratio_rate5m{{{_OF_CLIENT}}}": "0.0213x20"},
            "2.1 %",
        ),
        (
            f'alertname="FssLdapErrors", {_OF_NAMED}',
            {f'fss_ldap_connection_errors_total{{job="p", {_OF_NAMED}, error_type="TIMEOUT"}}': "0+1x20"},
            "15 errors",
        ),
        ('alertname="FssCollectorFailing", job="p", case="two_leaders"', {}, "two leaders"),
        (f'alertname="FssMountTargetNotActive", {_OF_NAMED}, state="DELETING"', {}, "DELETING"),
    ],
)
def test_any_other_alert_shows_its_own_figure(
    tmp_path: Path, labels: str, figures: Mapping[str, str], now: str
) -> None:
    *_, expr, _ = expressions(panel_of("fleet", "Firing alerts"))
    fine = {f'mount_target:fss_state:max{{{_OF_NAMED}, mount_target="mt-home"}}': "0x20"}

    ask(
        tmp_path,
        firing(f'{labels}, severity="warning"') | fine | dict(figures),
        [(f"count by (now) ({expr})", [(f'{{now="{now}"}}', 1)])],
    )


def test_every_subject_that_is_judged_has_an_alert_about_its_state() -> None:
    about = {name.lower() for name in {rule.name for rule in ALERTS} if re.fullmatch("|".join(ABOUT_A_STATE), name)}

    assert {subject.runbook for subject in (*SUBJECTS.values(), *SUBJECTS_OF_HOSTS.values())} <= about


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
