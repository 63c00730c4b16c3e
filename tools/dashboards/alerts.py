"""Firing alerts with subject and age, and a link to the dashboard of the subject."""

from collections.abc import Callable

from tools.dashboards.panels import Panel, Query
from tools.dashboards.tables import Column, table
from tools.dashboards.words import KEEP

_SEVERITIES = (("critical", "red"), ("warning", "orange"), ("info", "blue"))
_ALERT_WIDTH = 260
"""Pixels of the longest name of an alert."""

_NAMED = (
    ("mount_target_id", "mount_target", "fss_mount_target_info"),
    ("file_system_id", "file_system", "fss_file_system_info"),
    ("replication_id", "replication", "fss_replication_info"),
    ("resource_id", "resource", "fss_service_resource_info"),
)
"""Alerts have OCIDs: the label, and the source of its display name."""

IDENTITY = (
    "alertname, severity, job, region, address, instance, mount_target_id, file_system_id, replication_id, resource_id"
)

_OF_FLEET = "Fss(?:FileSystem|MountTarget|Region|Replication|Service|Volume)[^ ]+"
_WAYS = (
    (("job",), "(.+)", "fss-exporter job $1"),
    (("region",), "(.+)", "fss-exporter region $1"),
    (("alertname",), _OF_FLEET, "fss-fleet - -"),
    (("alertname", "region"), f"{_OF_FLEET} (.+)", "fss-fleet region $1"),
    (("address",), "(.+)", "fss-clients address $1"),
    (("mount_target_id",), "(.+)", "fss-mount-target mount_target $1"),
    (("alertname", "address"), "FssClient[^ ]+ (.+)", "fss-clients address $1"),
    (("alertname", "instance"), "FssClient[^ ]+ (.+)", "fss-clients client $1"),
)
"""Labels, regular expression of their values, and the dashboard with the variable and value to choose. The last that fits wins."""

_TO_DASHBOARD = f"/d/${{__data.fields.dashboard}}?var-${{__data.fields.variable}}=${{__data.fields.chosen}}&{KEEP}"


def with_subject(alerts: Callable[[str], str], selector: str) -> str:
    """Alerts with a label `subject`: the display name of the resource, or else instance, address, region or job, or else "all".

    Args:
        alerts: gives the expression of the alerts of these label matchers.
    """
    named = [_with_name(alerts(f'{selector}, {key}!=""'), key, name, info) for key, name, info in _NAMED]
    other = f'label_replace({alerts(selector)}, "subject", "all", "", "")'
    for label in ("job", "region", "address"):
        other = f'label_replace({other}, "subject", "$1", "{label}", "(.+)")'
    expr = "(\n" + f"\nor on ({IDENTITY})\n".join((*named, other)) + "\n)"
    return f'label_replace({expr}, "subject", "$1", "instance", "(.+)")'


def _with_name(alerts: str, key: str, name: str, info: str) -> str:
    names = f'label_replace({info}, "subject", "$1", "{name}", "(.+)")'
    return f"{alerts}\n* on (region, {key}) group_left (subject) topk by (region, {key}) (1, group by (region, {key}, subject) ({names}))"


def _since(selector: str) -> str:
    """Seconds since an alert became active, of those that fire."""
    firing = f'ALERTS{{{selector}, alertstate="firing"}}'
    return f"max by ({IDENTITY}) (time() - ALERTS_FOR_STATE{{{selector}}} and ignoring (alertstate) {firing})"


def _with_dashboard(expr: str) -> str:
    for rank, (severity, _) in enumerate(_SEVERITIES):  # Grafana sorts by the label: the word info comes before warning
        expr = f'label_replace({expr}, "rank", "{rank}", "severity", "{severity}")'
    expr = f'label_replace({expr}, "way", "fss-exporter - -", "", "")'
    for labels, regex, way in _WAYS:
        joined = ", ".join(f'"{label}"' for label in labels)
        expr = f'label_replace(label_join({expr}, "about", " ", {joined}), "way", "{way}", "about", "{regex}")'
    for at, label in enumerate(("dashboard", "variable", "chosen"), 1):
        expr = f'label_replace({expr}, "{label}", "${at}", "way", "([^ ]+) ([^ ]+) (.+)")'
    return expr


def firing_alerts(title: str, description: str, selector: str, *, width: int = 12, height: int = 9) -> Panel:
    """A table of the firing alerts of these label matchers, the most severe first."""
    return table(
        title,
        f"{description} Click the subject for the dashboard of the mount target or client. docs/runbook.md has a heading for each alert.",
        Query(_with_dashboard(with_subject(_since, selector)), "since"),
        columns={
            "rank": Column("Severity", words={str(rank): words for rank, words in enumerate(_SEVERITIES)}, width=80),
            "alertname": Column("Alert", width=_ALERT_WIDTH),
            "subject": Column("Subject", url=_TO_DASHBOARD),
            "since": Column("Since", unit="s", decimals=0, width=90),
            "dashboard": Column(None),
            "variable": Column(None),
            "chosen": Column(None),
        },
        sort_by="Severity",
        ascending=True,
        empty="No alert fires.",
        width=width,
        height=height,
    )


def marks(selector: str) -> str:
    """The expression of the annotations: firing alerts with their subject."""
    return with_subject(lambda matchers: f'ALERTS{{{matchers}, alertstate="firing"}}', selector)
