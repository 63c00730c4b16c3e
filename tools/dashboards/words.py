"""What more than one dashboard says: variables, links, selectors, steps that equal an alert's."""

from tools.dashboards.frame import query_variable
from tools.dashboards.panels import Json, Query, Steps

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


def region_variable() -> Json:
    """Regions that have mount targets."""
    return query_variable(
        "region", "Region", "label_values(fss_mount_target_info, region)", description="Regions of the inventory."
    )


def ceiling(limit: str, selector: str, warning_ratio: float) -> list[Query]:
    """The ceiling and its warning line, for a graph in the ceiling's own unit."""
    return [
        Query(f"max({limit}{{{selector}}})", "ceiling"),
        Query(f"{warning_ratio:g} * max({limit}{{{selector}}})", f"{100 * warning_ratio:.0f} % of the ceiling"),
    ]
