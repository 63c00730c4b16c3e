"""Firing alerts with subject, state and age, and links to the runbook and to the dashboard of the subject."""

from collections.abc import Sequence

from tools.dashboards.panels import AGE_DECIMALS, Panel, Query
from tools.dashboards.tables import Column, table
from tools.dashboards.words import STATE_WORDS, TO_DASHBOARD

from fss_exporter.ocid import BEGINNING

_SEVERITIES = {"critical": ("critical", "red"), "warning": ("warning", "orange")}
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
    ("fss-mount-target;mount_target;$1", "Fss[^;]+;([^;]+);.*"),
    ("fss-clients;address;$1", "Fss[^;]+;;([^;]+);.*"),
    ("fss-fleet;region;$1", f"{_OF_FLEET};;;[^;]*;([^;]+);.*"),
    ("fss-fleet;-;-", f"{_OF_FLEET};.*"),
    ("fss-exporter;region;$1", "Fss[^;]+;;;[^;]*;([^;]+);.*"),
    ("fss-exporter;job;$1", "Fss.+;([^;]+)"),
    ("fss-exporter;-;-", "Fss.*"),
)

# What tells apart rows of one alert about one subject, which say the same to a person. With one row each the cause is not among the first.
WHAT_OF_IT = "collector, part"

_TO_RUNBOOK = "http://${runbook}/runbook#${__data.fields.alertname}"


def _firing(selectors: tuple[str, ...]) -> str:
    firing = " or ".join(f'ALERTS{{{selector}, alertstate="firing"}}' for selector in selectors)
    return f"max without ({WHAT_OF_IT}) ({firing})"


def _joined(expr: str, into: str, labels: Sequence[str]) -> str:
    """Series with the values of these labels in one, with a semicolon after each but the last."""
    names = ", ".join(f'"{label}"' for label in labels)
    return f'label_join(\n{expr}\n, "{into}", ";", {names})'


def with_subject(*selectors: str, names_of: str = "6h") -> str:
    """Firing alerts with a label `subject`: client and name of the resource, else job or region, or else "all".

    Args:
        names_of: how long the name of a resource that a dead poller listed stays known.
    """
    alerts = _firing(selectors)
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
    expr = f"time() - min without ({WHAT_OF_IT}) ({active}) and ignoring (alertstate) {_firing(selectors)}"
    expr = _joined(expr, "way", _ABOUT)
    for way, labels in _WAYS:
        expr = f'label_replace({expr}, "way", "{way}", "way", "{labels}")'
    for at, label in enumerate(("dashboard", "variable", "chosen"), 1):
        expr = f'label_replace({expr}, "{label}", "${at}", "way", "(.+);(.+);(.+)")'
    return expr


def _state(selectors: tuple[str, ...]) -> str:
    """The state of the subject now, as agents, poller and rules judge it: of the client, else of the mount target, else of the address."""
    alerts = _firing(selectors)
    return "\nor ".join(
        f"{alerts} * on ({labels}) group_left () {state}"
        for labels, state in (
            ("network, address, instance", "max by (network, address, instance) (fss_client_address_state)"),
            ("tenancy, region, mount_target_id", "mount_target:fss_state:worst"),
            ("network, address", "address:fss_state:worst"),
        )
    )


def firing_alerts(
    title: str, description: str, *selectors: str, has_state: bool = True, width: int = 14, height: int = 9
) -> Panel:
    """A table of the firing alerts of any of these label matchers, the most severe first.

    Args:
        has_state: whether any of them is about a client, an address or a mount target, which alone have a state.
    """
    state = Column("Now", unit="none", words=STATE_WORDS, width=82)
    return table(
        title,
        f"{description} Click the alert for its section of the runbook, and the subject for the dashboard of the mount target or client."
        + " Now is the state of the client or mount target at this moment: an alert stays for a while after it."
        * has_state,
        Query(_since(selectors), "since"),
        Query(with_subject(*selectors), "info"),
        *([Query(_state(selectors), "state")] if has_state else []),
        columns={
            "severity": Column("Severity", words=_SEVERITIES, width=80),
            "alertname": Column("Alert", width=_ALERT_WIDTH, url=_TO_RUNBOOK),
            "subject": Column("Subject", url=TO_DASHBOARD, least=80),
            **({"state": state} if has_state else {}),
            "since": Column("Since", unit="s", decimals=AGE_DECIMALS, width=72),
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
    return with_subject(selector, names_of="10m")
