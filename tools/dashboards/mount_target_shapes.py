"""Of mount-target.json: which shape carries the load of the time shown, as far as Prometheus knows."""

from collections.abc import Iterator

from tools.dashboards.mount_target_load import THIS
from tools.dashboards.panels import CEILING_STEPS, Query
from tools.dashboards.tables import Column, table
from tools.dashboards.words import RESOURCE_WORDS

from fss_exporter.model.limits import SHAPES, Shape
from fss_exporter.model.thresholds import WARNING_RATIO

_LOADS = (
    ("iops", "(fss_mount_target_iops{this} or fss_mount_target_estimated_iops{this})", "iops"),
    ("read_bandwidth", "fss_mount_target_read_bytes_per_second{this}", "read_bytes_per_second"),
    ("write_bandwidth", "fss_mount_target_write_bytes_per_second{this}", "write_bytes_per_second"),
)
"""Resource, selector of its load, and its ceiling in the model."""


def _shares(shape: Shape) -> Iterator[str]:
    """Share of each published ceiling of a shape that the largest minute of the time shown uses."""
    for resource, selector, ceiling in _LOADS:
        limit = getattr(shape.limits, ceiling)
        if limit is not None:
            series = selector.replace("{this}", f"{{{THIS}}}")
            load = f"max(max_over_time({series}[$__range:1m]))"
            named = f'label_replace({load} / {limit:.0f}, "resource", "{resource}", "", "")'
            yield f'label_replace({named}, "shape", "{shape.name}", "", "")'


_FULLEST = (
    "topk by (shape) (1,\n" + "\nor\n".join(share for shape in SHAPES.values() for share in _shares(shape)) + "\n)"
)
_UNPUBLISHED = "\nor\n".join(
    f'label_replace(label_replace(vector(1), "shape", "{shape.name}", "", ""), "unpublished",'
    f' "{", ".join(sorted(RESOURCE_WORDS[resource][0] for resource, _, ceiling in _LOADS if getattr(shape.limits, ceiling) is None)) or "none"}", "", "")'
    for shape in SHAPES.values()
)

SHAPES_TABLE = table(
    "Which shape carries this load",
    "The largest minute of the time shown against the ceilings of each shape: the fullest of those that Oracle publishes, and how many mount targets carry "
    "the load below the warning line. A high performance shape may also meet a ceiling that is not published. Prices, Lustre and the day on which "
    "the ceiling is reached: fss-exporter plan --prometheus URL --compare.",
    Query(_FULLEST, "share"),
    Query(f"clamp_min(ceil(max by (shape) ({_FULLEST}) / {WARNING_RATIO:g}), 1)", "needed"),
    Query(f"{_UNPUBLISHED}", "info"),
    columns={
        "shape": Column("Shape", least=75),
        "needed": Column("Needed", unit="none", width=70),
        "share": Column("One uses", unit="percentunit", steps=CEILING_STEPS, width=78),
        "resource": Column("Fullest", words=RESOURCE_WORDS, width=112, is_optional=True),
        "unpublished": Column("Not published", width=145),
    },
    sort_by="Needed",
    ascending=True,
    width=12,
    height=10,
)
