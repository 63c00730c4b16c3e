"""Of mount-target.json: which shape carries the load of the time shown, what it costs and when it is full, as far as Prometheus knows."""

from collections.abc import Iterator, Mapping

from tools.generate.dashboards.frame import text_variable
from tools.generate.dashboards.mount_target_load import THIS
from tools.generate.dashboards.panels import CEILING_STEPS, Query
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import RESOURCE_WORDS

from fss_exporter.model.limits import HIGH_PERFORMANCE_DAYS, SHAPES, STANDARD
from fss_exporter.model.service_table import GB
from fss_exporter.model.thresholds import WARNING_RATIO

# Data that the price of a mount target pays for. A standard mount target costs nothing.
ENTITLED_GB = {shape.name: shape.entitlement_bytes / GB for shape in SHAPES.values()}

USD_PER_GB = text_variable(
    "usd_per_gb",
    "USD per GB",
    "0.30",
    description="Price of a GB of File Storage for a month, for the table of shapes. 0.30 is quoted by third parties. Put in the price of your contract.",
)

# Selector of the load by resource.
_LOADS = {
    "iops": f"(fss_mount_target_iops{{{THIS}}} or fss_mount_target_estimated_iops{{{THIS}}})",
    "read_bandwidth": f"fss_mount_target_read_bytes_per_second{{{THIS}}}",
    "write_bandwidth": f"fss_mount_target_write_bytes_per_second{{{THIS}}}",
}

# Ceiling of the mount target as it is, by resource.
_PRESENT_LIMITS = {
    "iops": "fss_mount_target_iops_limit",
    "read_bandwidth": "fss_mount_target_read_bytes_per_second_limit",
    "write_bandwidth": "fss_mount_target_write_bytes_per_second_limit",
}

# Ceiling in the model by resource.
_OF_MODEL = {"iops": "iops", "read_bandwidth": "read_bytes_per_second", "write_bandwidth": "write_bytes_per_second"}

_CEILINGS = "shape_resource:fss_limit:max"  # the published ceilings of each shape, which the rules hold


def _any(exprs: Iterator[str]) -> str:
    return "\nor\n".join(exprs)


def _labelled(expr: str, **labels: str) -> str:
    for name, value in labels.items():
        expr = f'label_replace({expr}, "{name}", "{value}", "", "")'
    return expr


def _by_shape(values: Mapping[str, float]) -> str:
    """One constant for each shape."""
    return _any(_labelled(f"vector({value:.0f})", shape=name) for name, value in values.items())


# Share of each published ceiling of a shape that the largest minute of the time shown uses.
_LARGEST = _any(
    _labelled(f"max(max_over_time({load}[$__range:1m]))", resource=resource) for resource, load in _LOADS.items()
)
_FULLEST = f"topk by (shape) (1,\n(\n{_LARGEST}\n)\n/ on (resource) group_right () {_CEILINGS}\n)"
_NEEDED = f"clamp_min(ceil(max by (shape) ({_FULLEST}) / {WARNING_RATIO:g}), 1)"

# Ceilings of the needed mount targets together, as multiples of the ceiling that this mount target has now. The busiest minutes of the week are
# a share of that ceiling too, and grow by a seventh of the recorded growth of a week each day.
_LIMITS_NOW = _any(_labelled(f"min({name}{{{THIS}}})", resource=resource) for resource, name in _PRESENT_LIMITS.items())
_BUSIEST = f"max by (resource) (mount_target_resource:fss_utilisation:p99_7d{{{THIS}}})"
_GROWTH_OF_A_DAY = (
    f"(max by (resource) (mount_target_resource:fss_utilisation:forecast14d{{{THIS}}}) - {_BUSIEST}) / 14"
)
_DAYS_LEFT = (
    f"({_CEILINGS} * on (shape) group_left () ({_NEEDED})\n"
    f"/ on (resource) group_left () ({_LIMITS_NOW})\n"
    f"- on (resource) group_left () {_BUSIEST})\n"
    f"/ on (resource) group_left () ({_GROWTH_OF_A_DAY} > 0)"
)
_SOON_DAYS = 3650  # a later date is no forecast
_FULL_ON = f"1000 * (time() + 86400 * min by (shape) (clamp_min(\n{_DAYS_LEFT}\n, 0) < {_SOON_DAYS}))"

_UNPUBLISHED = _any(
    _labelled("vector(1)", unpublished=_unpublished, shape=shape.name)
    for shape in SHAPES.values()
    for _unpublished in [
        ", ".join(
            sorted(
                RESOURCE_WORDS[resource][0]
                for resource, ceiling in _OF_MODEL.items()
                if getattr(shape.limits, ceiling) is None
            )
        )
        or "none"
    ]
)

_KNOWN_LIMITS = {
    shape.name: shape.default_service_limit for shape in SHAPES.values() if shape.default_service_limit is not None
}

SHAPES_TABLE = table(
    "Which shape carries this load",
    "The largest minute of the time shown against the ceilings of each shape: the fullest of those that Oracle publishes, and how many mount targets carry "
    "the load below the warning line. A high performance shape may also meet a ceiling that is not published. Allowed is the service limit of an "
    "availability domain, unless it was raised. USD a month is the entitlement of the needed mount targets by the price in the variable USD per GB. Full on "
    "is the day on which the needed mount targets reach a ceiling, if the busiest minutes of a week grow on as in the slower of the last two weeks. "
    "There is no date without two weeks of history, without growth, or beyond ten years. Sizes of Lustre: fss-exporter plan --prometheus URL --compare.",
    Query(_FULLEST, "share"),
    Query(_NEEDED, "needed"),
    Query(_UNPUBLISHED, "info"),
    Query(_by_shape(_KNOWN_LIMITS), "allowed"),
    Query(
        _by_shape({shape.name: 0 if shape is STANDARD else HIGH_PERFORMANCE_DAYS for shape in SHAPES.values()}), "paid"
    ),
    Query(f"{_NEEDED} * on (shape) ({_by_shape(ENTITLED_GB)}) * $usd_per_gb", "usd"),
    Query(_FULL_ON, "full"),
    columns={
        "shape": Column("Shape", least=90),
        "needed": Column("Needed", unit="none", width=80),
        "share": Column("One uses", unit="percentunit", steps=CEILING_STEPS, width=90),
        "resource": Column("Fullest", words=RESOURCE_WORDS, width=130, is_optional=True),
        "unpublished": Column("Not published", width=170),
        "allowed": Column("Allowed", unit="none", width=80),
        "paid": Column("Paid for days", unit="none", width=105),
        "usd": Column("USD a month", unit="none", width=105),
        "full": Column("Full on", unit="time:YYYY-MM-DD", width=110),
    },
    sort_by="Needed",
    ascending=True,
    height=7,
)
