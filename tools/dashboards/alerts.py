"""The table of firing alerts: which, of what, since when, and a click to the dashboard that says who and why."""

from tools.dashboards.panels import Panel, Query
from tools.dashboards.tables import Column, table
from tools.dashboards.words import KEEP, named

SEVERITIES = {"critical": ("critical", "red"), "warning": ("warning", "orange"), "info": ("info", "blue")}

_LABELS = "alertname, severity, job, region, address, mount_target_id, mount_target, resource, instance, file_system, replication"
_SUBJECTS = ("job", "region", "resource", "address", "mount_target", "instance", "file_system", "replication")
"""From the widest to the narrowest; the narrowest that an alert has is its subject."""

_DASHBOARDS = (
    ("file_system", "(.+)", "fss-fleet"),
    ("replication", "(.+)", "fss-fleet"),
    ("address", "(.+)", "fss-clients"),
    ("mount_target_id", "(.+)", "fss-mount-target"),
    ("of_client", "FssClient.+/.+", "fss-clients"),
)
"""Label, regular expression, dashboard; the last that fits wins."""

_TO_DASHBOARD = (
    "/d/${__data.fields.dashboard}?var-mount_target=${__data.fields.mount_target_id}&var-address=${__data.fields.address}&"
    + KEEP
)


def _since(selector: str) -> str:
    """Seconds since an alert became active, of those that fire, by the labels of the table."""
    firing = f'ALERTS{{{selector}, alertstate="firing"}}'
    return f"max by ({_LABELS}) (time() - ALERTS_FOR_STATE{{{selector}}} and ignoring (alertstate) {firing})"


def _with_subject(selector: str) -> str:
    since = _since(selector)
    expr = f"(\n{named(since)}\nor ignoring (mount_target)\n{since}\n)"
    for label in _SUBJECTS:
        expr = f'label_replace({expr}, "subject", "$1", "{label}", "(.+)")'
    expr = f'label_join({expr}, "of_client", "/", "alertname", "address")'
    expr = f'label_replace({expr}, "dashboard", "fss-exporter", "", "")'
    for label, regex, uid in _DASHBOARDS:
        expr = f'label_replace({expr}, "dashboard", "{uid}", "{label}", "{regex}")'
    return expr


def firing_alerts(title: str, description: str, selector: str, *, width: int, height: int) -> Panel:
    """A table of the firing alerts of these label matchers, the most severe first."""
    return table(
        title,
        f"{description} Click the subject for the dashboard that says who and why. docs/runbook.md has a heading for each alert.",
        Query(_with_subject(selector), "since"),
        columns={
            "severity": Column("Severity", words=SEVERITIES, width=80),
            "alertname": Column("Alert"),
            "subject": Column("Subject", url=_TO_DASHBOARD),
            "since": Column("Since", unit="s", decimals=0, width=90),
            "dashboard": Column(None),
            "mount_target_id": Column(None),
            "address": Column(None),
        },
        sort_by="Severity",
        ascending=True,
        width=width,
        height=height,
    )
