"""What each firing alert is about now: the state of its subject, or its own figure or case."""

from dataclasses import dataclass

# What tells apart rows of one alert about one subject, which say the same to a person. With one row each the cause is not among the first.
WHAT_OF_IT = "collector, part"

# Alerts that are about a state. Beside any other alert the state of its subject would read as that of the trouble.
ABOUT_A_STATE = (
    "FssMountTarget(Down|Failing|Slow|LatencyHigh|IopsHigh|ReadBandwidthHigh|WriteBandwidthHigh|ConnectionsHigh)",
    "FssAddressUtilisationHigh",
    "FssClient(Stalled|Errors|Slow|TailSlow)",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """What an alert is about where that is no state.

    Attributes:
        alert: name of the alert, as a regular expression.
        on: labels that tell the alerts of this name apart.
        expr: the figure by these labels, or by more: then the largest is shown.
        words: what is shown, with $1 for the figure.
    """

    alert: str
    on: str
    expr: str
    words: str


_PLACE = "tenancy, region"
_TARGET = f"{_PLACE}, mount_target_id"
_SYSTEM = f"{_PLACE}, file_system_id"
_RESOURCE = f"{_PLACE}, resource_id"
_REFUSED = 'fss_oci_api_requests_total{outcome="credentials_refused"}'

FIGURES = (
    Figure(
        "FssOciCredentialsRefused",
        _PLACE,
        f"100 * sum by ({_PLACE}) (increase({_REFUSED}[10m])) / sum by ({_PLACE}) (increase(fss_oci_api_requests_total[10m]))",
        "$1 %",
    ),
    Figure("FssOciDataLate", _PLACE, "poller:fss_oci_data_age_seconds:min / 60", "$1 min"),
    Figure("FssOciPollerDown", _PLACE, "poller:fss_mount_targets_unwatched:count", "$1 unseen"),
    Figure(
        "FssRegionDown|FssRegionDegraded",
        _PLACE,
        f"count by ({_PLACE}) (group by ({_TARGET}) (slo:fss_page:max))",
        "$1 targets",
    ),
    Figure("FssLdapErrors", _TARGET, "increase(fss_ldap_connection_errors_total[15m])", "$1 errors"),
    Figure("FssKerberosErrors", _TARGET, "increase(fss_kerberos_errors_total[15m])", "$1 errors"),
    Figure("FssMountTargetCeilingForecast", _TARGET, "100 * mount_target_resource:fss_utilisation:forecast14d", "$1 %"),
    Figure("FssFileSystemLoadUneven", _SYSTEM, "file_system:fss_utilisation_imbalance:ratio", "$1 times"),
    Figure(
        "FssFileSystemQuotaExceeded",
        _SYSTEM,
        "increase(fss_file_system_hard_quota_violations_total[15m])",
        "$1 writes",
    ),
    Figure(
        "FssFileSystemSoftQuotaExceeded",
        _SYSTEM,
        "increase(fss_file_system_soft_quota_violations_total[15m])",
        "$1 writes",
    ),
    Figure(
        "FssReplicationBehind",
        f"{_PLACE}, replication_id",
        "fss_replication_recovery_point_age_seconds / 60",
        "$1 min",
    ),
    Figure("FssServiceUtilisationHigh", _RESOURCE, "100 * service:fss_utilisation:ratio", "$1 %"),
    Figure(
        "FssServiceSpaceForecast",
        _RESOURCE,
        "(service:fss_full_timestamp_seconds:forecast - time()) / 86400",
        "$1 days",
    ),
    Figure(
        "FssClientRetransmissions",
        "network, address, instance",
        "100 * client:fss_client_retransmissions:ratio_rate5m",
        "$1 %",
    ),
    Figure(
        "FssAddressLatencyHigh", "network, address", "100 * address_class:fss_client_latency_objective:mean5m", "$1 %"
    ),
    Figure("FssClientMountMissing", "instance", "fss_nfs_fstab_missing_mounts", "$1 gone"),
    Figure("FssClientNetworkHigh", "instance", "100 * instance:fss_client_network_utilisation:ratio", "$1 %"),
)


def firing(selectors: tuple[str, ...]) -> str:
    """Firing alerts of any of these label matchers, one series for each alert and subject."""
    alerts = " or ".join(f'ALERTS{{{selector}, alertstate="firing"}}' for selector in selectors)
    return f"max without ({WHAT_OF_IT}) ({alerts})"


def now(selectors: tuple[str, ...]) -> str:
    """What is now of each alert, as text in the label `now`: the number of the state for an alert about a state, else its own figure or case."""
    about_a_state = firing(tuple(f'{selector}, alertname=~"{"|".join(ABOUT_A_STATE)}"' for selector in selectors))
    state = "\nor ".join(
        f"{about_a_state} * on ({labels}) group_left () {state}"
        for labels, state in (
            ("network, address, instance", "max by (network, address, instance) (fss_client_address_state)"),
            (_TARGET, "mount_target:fss_state:max"),
            ("network, address", "address:fss_state:max"),
        )
    )
    figures = (_figure(figure, selectors) for figure in FIGURES)
    return "\nor ".join((f'count_values without () ("now", {state})', *figures, _case(selectors)))


def _case(selectors: tuple[str, ...]) -> str:
    """Alerts that name their case, or the state that OCI gives a mount target."""
    cases = firing(tuple(f'{selector}, case!=""' for selector in selectors))
    named = f'label_replace(label_replace({cases}, "now", "$1", "case", "(.+)"), "now", "$1 $2", "case", "(.+)_(.+)")'
    states = firing(tuple(f'{selector}, alertname="FssMountTargetNotActive"' for selector in selectors))
    return f'{named}\nor label_replace({states}, "now", "$1", "state", "(.+)")'


def _figure(figure: Figure, selectors: tuple[str, ...]) -> str:
    alerts = firing(tuple(f'{selector}, alertname=~"{figure.alert}"' for selector in selectors))
    value = f"round({alerts} * on ({figure.on}) group_left () max by ({figure.on}) ({figure.expr}), 0.1)"
    return f'label_replace(count_values without () ("now", {value}), "now", "{figure.words}", "now", "(.+)")'
