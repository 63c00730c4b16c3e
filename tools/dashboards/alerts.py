"""Firing alerts with subject, value and age, and links to the runbook and to the dashboard of the subject."""

from typing import NamedTuple

from tools.dashboards.panels import Panel, Query
from tools.dashboards.tables import Column, table
from tools.dashboards.words import TO_DASHBOARD

_SEVERITIES = (("critical", "red"), ("warning", "orange"), ("info", "blue"))
_ALERT_WIDTH = 240
"""Pixels of the longest name of an alert."""

_MOUNT_TARGETS = "mount_target:fss_mount_target:info"
_NAMED = (
    ("mount_target_id", "mount_target", _MOUNT_TARGETS),
    ("file_system_id", "file_system", "fss_file_system_info"),
    ("replication_id", "replication", "fss_replication_info"),
    ("resource_id", "resource", "fss_service_resource_info"),
)
"""Alerts have OCIDs: the label, and the source of its display name."""

IDENTITY = (
    "alertname, severity, job, tenancy, region, network, address, instance, mount_target_id, file_system_id, replication_id, resource_id,"
    " resource, resource_kind"
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

_TO_RUNBOOK = "http://${runbook}/runbook#${__data.fields.alertname}"


class Value(NamedTuple):
    """What an alert judges now, with the labels of the alert."""

    expr: str
    factor: float  # of the value, so that a whole number is exact enough
    unit: str


_SUBJECT = "tenancy, region, mount_target_id, network, address"
_PERCENT = (100, " %")
_MINUTES = (1 / 60, " min")


def _share(expr: str, by: str = "tenancy, region, mount_target_id") -> Value:
    return Value(f"max by ({by}) ({expr})", *_PERCENT)


def _bad_minutes(objective: str) -> Value:
    return Value(f'max by ({_SUBJECT}) (slo:fss_bad_minutes:count{{objective="{objective}"}})', 1, " min/h")


def _client_time(verdict: str) -> Value:
    return Value(_with_subject(f'client_verdict:fss_client_time:ratio_rate10m{{verdict="{verdict}"}}'), *_PERCENT)


def _with_subject(expr: str) -> str:
    return f"{expr} * on (network, address) group_left (tenancy, region, mount_target_id) address:fss_subject:info"


def _or_proven(figure: str, resource: str) -> str:
    """Shares of a ceiling that OCI measured, or else what the clients prove."""
    of_resource = f'{{resource="{resource}"}}'
    return (
        f"mount_target:fss_utilisation:{figure}{of_resource}"
        f" or on (tenancy, region, mount_target_id) mount_target:fss_utilisation:at_least{of_resource}"
    )


VALUES = {
    "FssMountTargetIopsHigh": _share(_or_proven("peak", "iops")),
    "FssMountTargetReadBandwidthHigh": _share(_or_proven("ratio", "read_bandwidth")),
    "FssMountTargetWriteBandwidthHigh": _share(_or_proven("ratio", "write_bandwidth")),
    "FssMountTargetConnectionsHigh": _share(
        'mount_target:fss_utilisation:ratio{resource="connections"}'
        ' or mount_target:fss_utilisation:at_least{resource="encrypted_connections"}',
        "tenancy, region, mount_target_id, resource",
    ),
    "FssMountTargetCeilingForecast": _share(
        "mount_target:fss_utilisation:forecast14d", "tenancy, region, mount_target_id, resource"
    ),
    "FssMountTargetFailing": _bad_minutes("availability"),
    "FssMountTargetSlow": _bad_minutes("latency"),
    "FssMountTargetDown": Value(
        f"max by ({_SUBJECT}) ({_with_subject('sum by (network, address) (address:fss_clients_unanswered:count)')})",
        1,
        " hang",
    ),
    "FssFileSystemLoadUneven": Value(
        "max by (tenancy, region, file_system_id) (file_system:fss_utilisation_imbalance:ratio)", *_PERCENT
    ),
    "FssReplicationBehind": Value(
        "max by (tenancy, region, replication_id) (fss_replication_recovery_point_age_seconds)", *_MINUTES
    ),
    "FssOciDataLate": Value(
        "max by (tenancy, region) (poller:fss_oci_data_age:seconds)",
        *_MINUTES,
    ),
    "FssOciThrottled": Value(
        'sum by (tenancy, region) (rate(fss_oci_api_requests_total{outcome="throttled"}[$__rate_interval]))'
        " / sum by (tenancy, region) (rate(fss_oci_api_requests_total[$__rate_interval]))",
        *_PERCENT,
    ),
    "FssPollerClockSkew": Value("max by (tenancy, region) (abs(fss_oci_clock_skew_seconds))", 1, " s"),
    "FssClientStalled": Value(_with_subject("client:fss_client_unanswered_seconds:now"), *_MINUTES),
    "FssClientSlow": _client_time("slow"),
    "FssClientErrors": _client_time("failing"),
    "FssClientRetransmissions": Value(_with_subject("client:fss_client_retransmissions:ratio_rate5m"), *_PERCENT),
    "FssClientNetworkHigh": Value("client:fss_client_network_utilisation:ratio", *_PERCENT),
    "FssAddressUtilisationHigh": Value("address:fss_client_utilisation:ratio", *_PERCENT),
    "FssServiceUtilisationHigh": Value("max without (resource) (service:fss_utilisation:ratio)", *_PERCENT),
    "FssExporterDown": Value("count by (job) (up == 0)", 1, " down"),
}
"""What the alerts judge, by name. The others say enough by their name."""

_MATCHED = (
    "alertname, job, tenancy, region, network, address, instance, mount_target_id, file_system_id, replication_id, resource_id, resource,"
    " resource_kind"
)


_RESOURCES = "tenancy, region, mount_target_id, file_system_id, replication_id, resource_id"


def _value_of(name: str, value: Value) -> str:
    """The value of an alert that fires anywhere. Thousands of values that nobody sees would cost half a second of CPU."""
    fires = f'ALERTS{{alertname="{name}", alertstate="firing"}}'
    with_unit = f'label_replace({value.factor:.6g} * ({value.expr}) and on () {fires}, "unit", "{value.unit}", "", "")'
    return f'label_replace({with_unit}, "alertname", "{name}", "", "")'


def _judged() -> str:
    """What alerts judge now, as a text in the label `judged`, because their units differ."""
    values = "\nor\n".join(_value_of(name, value) for name, value in VALUES.items())
    with_number = f'count_values without () ("number", round(\n{values}\n))'
    return f'max by ({_MATCHED}, judged) (label_join({with_number}, "judged", "", "number", "unit"))'


def _with_value(alerts: str) -> str:
    """Alerts with the label `judged`, where what they judge is known."""
    return f"(\n{alerts}\n* on ({_MATCHED}) group_left (judged)\n{_judged()}\nor ignoring (judged)\n{alerts}\n)"


def with_subject(alerts: str, names_of: str = "6h") -> str:
    """Alerts with a label `subject`: the display name of the resource, or else instance, address, job and region, or else "all".

    Args:
        names_of: how long the name of a resource that a dead poller listed stays known.
    """
    rows = "\nor\n".join(
        f'group by (tenancy, region, {key}, subject) (label_replace(last_over_time({info}[{names_of}]), "subject", "$1", "{name}", "(.+)"))'
        for key, name, info in _NAMED
    )
    names = f"topk by ({_RESOURCES}) (1,\n{rows}\n)"
    parts = ", ".join(f'"{label}"' for label in ("instance", "address", "job", "region"))
    trimmed = f'label_replace(label_join({alerts}, "subject", " ", {parts}), "subject", "$1", "subject", " *(.*?) *")'
    others = f'label_replace({trimmed}, "subject", "all", "subject", "")'
    return f"(\n{alerts}\n* on ({_RESOURCES}) group_left (subject)\n{names}\nor on ({IDENTITY})\n{others}\n)"


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
    return f'label_replace({expr}, "alert", "$1", "alertname", "(?:Fss)?(.+)")'


def firing_alerts(title: str, description: str, *selectors: str, width: int = 14, height: int = 9) -> Panel:
    """A table of the firing alerts of any of these label matchers, the most severe first."""
    since = "\nor\n".join(map(_since, selectors))
    since = f"({since})" if len(selectors) > 1 else since
    return table(
        title,
        f"{description} Click the alert for its section of the runbook, and the subject for the dashboard of the mount target or client. "
        "Now is what the alert judges, at this moment.",
        Query(_with_dashboard(_with_value(with_subject(since))), "since"),
        columns={
            "rank": Column("Severity", words={str(rank): words for rank, words in enumerate(_SEVERITIES)}, width=85),
            "alert": Column("Alert", width=_ALERT_WIDTH, url=_TO_RUNBOOK),
            "subject": Column("Subject", url=TO_DASHBOARD, least=80),
            "judged": Column("Now", width=88, is_optional=True),
            "since": Column("Since", unit="s", decimals=0, width=72),
            "alertname": Column(None),
            "dashboard": Column(None),
            "variable": Column(None),
            "chosen": Column(None),
        },
        sort_by="Severity",
        ascending=True,
        empty="No rule reports a firing alert.",
        width=width,
        height=height,
    )


def marks(selector: str) -> str:
    """The expression of the annotations: firing alerts with their subject."""
    # over the time shown, names of six hours for each step would cost too much
    return with_subject(f'ALERTS{{{selector}, alertstate="firing"}}', names_of="10m")
