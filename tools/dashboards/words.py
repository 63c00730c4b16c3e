"""What more than one dashboard says: variables, links, selectors, steps that equal an alert's."""

from tools.dashboards.panels import Panel, Query, Steps, stat

IN_REGION = 'region=~"$region"'
MOUNT_TARGET = "region, mount_target_id, mount_target"

# These equal the numbers in rules/alerts.yml; a test compares.
DATA_AGE_STEPS: Steps = ((None, "green"), (600, "red"))
THROTTLED_STEPS: Steps = ((None, "green"), (0.05, "orange"))
RETRANSMISSION_STEPS: Steps = ((None, "green"), (0.01, "orange"))
IMBALANCE_STEPS: Steps = ((None, "green"), (1.5, "orange"))
SUCCESS_STEPS: Steps = ((None, "red"), (0.95, "orange"), (0.99, "green"))
REPLICATION_STEPS: Steps = ((None, "green"), (2, "orange"), (3, "red"))

_KEEP = "${datasource:queryparam}&${__url_time_range}"
TO_MOUNT_TARGET = (
    f"/d/fss-mount-target?var-mount_target=${{__data.fields.mount_target_id}}&${{region:queryparam}}&{_KEEP}"
)


def nearest(expr: str, by: str) -> str:
    """The ten largest over the time shown; `expr` is a selector. A plain topk would change its ten at every step."""
    return f"{expr}\nand on ({by})\ntopk(10, max_over_time({expr}[$__range] @ end()))"


def data_age(selector: str, advice: str) -> Panel:
    """How old the newest figures of mount targets are."""
    return stat(
        "Age of the data",
        f"How old the newest minute of any mount target metric is, in the region where it is oldest. One to three minutes is normal. {advice}",
        Query(
            "max(min by (region) (fss_oci_datapoint_age_seconds{"
            f'oci_metric=~"(?i:MountTarget(Connections|IOPS|ReadThroughput|WriteThroughput))", {selector}}}))'
        ),
        unit="s",
        steps=DATA_AGE_STEPS,
    )


def ceiling(limit: str, selector: str, warning_ratio: float) -> list[Query]:
    """The ceiling and its warning line, for a graph in the ceiling's own unit."""
    return [
        Query(f"max({limit}{{{selector}}})", "ceiling"),
        Query(f"{warning_ratio:g} * max({limit}{{{selector}}})", f"{100 * warning_ratio:.0f} % of the ceiling"),
    ]
