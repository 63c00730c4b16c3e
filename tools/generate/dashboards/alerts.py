"""Firing alerts in the order of cause, with subject, figure and age, and links to the runbook and to the dashboard of the subject.

Parts of the monitoring that are missing are rows of the same table, because without the rules no alert can tell of them.
"""

from collections.abc import Sequence

from tools.generate.dashboards.alert_figures import WHAT_OF_IT, firing, now
from tools.generate.dashboards.panels import AGE_DECIMALS, Panel, Query
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import STATE_WORDS, TO_DASHBOARD

from fss_exporter.ocid import BEGINNING

_SEVERITIES = {"critical": ("critical", "red"), "warning": ("warning", "orange"), "missing": ("missing", "text")}
_ALERT_WIDTH = 256  # pixels of the longest name of an alert

# Alerts have OCIDs. Their display names stand in two recorded series.
_RESOURCES = "tenancy, region, mount_target_id, file_system_id, replication_id, resource_id"

# What is said of an alert by client, name, job, region and tenancy, of which any can be missing, with a semicolon after each but
# the last.
#
# Client and name, or a region and its tenancy by name or by the tail of the OCID, or the first of them that there is.
_SUBJECTS = (
    ("$1 $2", "([^;]+);([^;]+);.*"),
    ("$1 $2$3", f";;;([^;]+);(?:{BEGINNING}.*(.{{6}})|([^;]+))"),
    ("$1", ";*([^;]+);.*"),
    ("all", ";+.*"),
)

_ABOUT = ("alertname", "mount_target_id", "address", "instance", "region", "job")
_OF_FLEET = "Fss(?:FileSystem|MountTarget|Region|Replication|Service|Volume)[^;]+"

# Dashboard, variable and value to choose, and what the labels of _ABOUT read. The first that fits wins.
_WAYS = (
    ("fss-clients;client;$1", "FssClient[^;]+;[^;]*;[^;]*;([^;]+);.*"),
    ("fss-clients;address;$1", "FssAddress[^;]+;[^;]*;([^;]+);.*"),
    ("fss-mount-target;mount_target;$1", "Fss[^;]+;([^;]+);.*"),
    ("fss-clients;address;$1", "Fss[^;]+;;([^;]+);.*"),
    ("fss-fleet;region;$1", f"{_OF_FLEET};;;[^;]*;([^;]+);.*"),
    ("fss-fleet;-;-", f"{_OF_FLEET};.*"),
    ("fss-exporter;region;$1", "Fss[^;]+;;;[^;]*;([^;]+);.*"),
    ("fss-exporter;job;$1", "Fss.+;([^;]+)"),
    ("fss-exporter;-;-", "Fss.*"),
)

_OF_MONITORING = "FssOci.+|FssExporter.+|FssMonitoring.+"

# Matchers of the alerts that come first, second and so on: what users feel, then causes before consequences.
ORDER = (
    (f'severity="critical", alertname!~"{_OF_MONITORING}"',),
    ('alertname=~"FssOciCredentials.+"',),
    ('severity="critical", alertname=~"FssOciPoller.+|FssMonitoring.+"',),
    ('alertname=~"FssOciPoller.+|FssExporter.+|FssMonitoring.+"', 'alertname=~"FssCollector.+", collector=~"oci.*"'),
    ('alertname=~"FssOciData.+|FssMountTargetData.+"',),
    ('alertname=~"Fss.+"',),  # figures
)

# A part of the monitoring: what the table says without it, how to add it, and what is there while it is missing.
_PARTS = (
    (
        "The rules are not loaded",
        "add rules/*.yml to rule_files",
        "absent(fleet:fss_agents:count) or group(fss_mount_target_info) unless on () mount_target:fss_mount_target:info",
    ),
    ("No poller", "docs/install.md: the poller", "absent(last_over_time(fss_oci_poll_timestamp_seconds[1d]))"),
    (
        "No agent",
        "docs/install.md: the agent",
        "absent(fss_client_unanswered_seconds or client:fss_client_estimated_iops:rate5m)",
    ),
)


_TO_RUNBOOK = "http://${runbook}/runbook#${__data.fields.alertname}"


def _in_order(selectors: tuple[str, ...]) -> str:
    """Firing alerts, with what users feel first, then the cause before what follows from it."""
    alerts = "\nor ".join(
        f'{rank} * ALERTS{{{selector}, {matchers}, alertstate="firing"}}'
        for rank, alternatives in enumerate(ORDER)
        for matchers in alternatives
        for selector in selectors
    )
    return f"sort(min without ({WHAT_OF_IT}) (\n{alerts}\n))"


def _missing() -> str:
    """A row for each part of the monitoring that is missing, with the labels that the table shows. Grafana puts it behind the alerts."""
    parts = "\nor ".join(
        f'label_replace(group({holds}), "way", "{name};{how};missing;fss-exporter;-;-", "", "")'
        for name, how, holds in _PARTS
    )
    labels = ("alertname", "subject", "severity", "dashboard", "variable", "chosen")
    return _split(f"({parts})", "way", labels)


def _split(expr: str, label: str, into: Sequence[str]) -> str:
    """Series with the parts of a label, between which semicolons stand, in labels of their own."""
    parts = ";".join("(.+)" for _ in into)
    for at, name in enumerate(into, 1):
        expr = f'label_replace({expr}, "{name}", "${at}", "{label}", "{parts}")'
    return expr


def _joined(expr: str, into: str, labels: Sequence[str]) -> str:
    """Series with the values of these labels in one, with a semicolon after each but the last."""
    names = ", ".join(f'"{label}"' for label in labels)
    return f'label_join(\n{expr}\n, "{into}", ";", {names})'


def with_subject(*selectors: str, names_of: str = "6h") -> str:
    """Firing alerts with a label `subject`: client and name of the resource, else job or region, or else "all".

    Args:
        names_of: how long the name of a resource that a dead poller listed stays known.
    """
    alerts = firing(selectors)
    mount_targets = f'label_replace(last_over_time(mount_target:fss_mount_target:info[{names_of}]), "name", "$1", "mount_target", "(.+)")'
    names = f"{mount_targets}\n  or last_over_time(resource:fss_name:info[{names_of}])"
    expr = (
        f"{alerts} * on ({_RESOURCES}) group_left (name) topk by ({_RESOURCES}) (1,\n  {names}\n)\n"
        f'or ignoring (name) label_replace({alerts}, "name", "$1", "address", "(.+)")'
    )
    expr = _joined(expr, "subject", ("instance", "name", "job", "region", "tenancy"))
    for subject, labels in _SUBJECTS:
        expr = f'label_replace({expr}, "subject", "{subject}", "subject", "{labels}")'
    return expr


def _since(selectors: tuple[str, ...]) -> str:
    """Seconds since an alert became active, of those that fire, with the dashboard of its subject."""
    active = " or ".join(f"ALERTS_FOR_STATE{{{selector}}}" for selector in selectors)
    expr = f"time() - min without ({WHAT_OF_IT}) ({active}) and ignoring (alertstate) {firing(selectors)}"
    expr = _joined(expr, "way", _ABOUT)
    for way, labels in _WAYS:
        expr = f'label_replace({expr}, "way", "{way}", "way", "{labels}")'
    return _split(expr, "way", ("dashboard", "variable", "chosen"))


def firing_alerts(title: str, description: str, *selectors: str, width: int = 14, height: int = 9) -> Panel:
    """A table of the firing alerts of any of these label matchers, causes first, and of the missing parts of the monitoring."""
    return table(
        title,
        f"{description} What users feel comes first, then causes before what follows from them. Click the alert for its section of the runbook, and the "
        "subject for the dashboard of the mount target or client. Now is the state at this moment, where the alert is about a state, or else its own "
        "figure or case. An alert stays for a while after it. Missing parts of the monitoring stand last.",
        Query(_in_order(selectors), "info"),
        Query(_since(selectors), "since"),
        Query(with_subject(*selectors), "info"),
        Query(now(selectors), "info"),
        Query(_missing(), "info"),
        columns={
            "severity": Column("Severity", words=_SEVERITIES, width=72),
            "alertname": Column("Alert", width=_ALERT_WIDTH, url=_TO_RUNBOOK),
            "subject": Column("Subject", url=TO_DASHBOARD, least=80),
            "now": Column("Now", words=STATE_WORDS, width=90, is_optional=True),
            "since": Column("Since", unit="s", decimals=AGE_DECIMALS, width=72),
            "dashboard": Column(None),
            "variable": Column(None),
            "chosen": Column(None),
        },
        empty="No rule reports a firing alert.",
        width=width,
        height=height,
    )


def marks(selector: str) -> str:
    """The expression of the annotations: firing alerts with their subject."""
    # over the time shown, names of six hours for each step would cost too much
    return with_subject(selector, names_of="10m")
