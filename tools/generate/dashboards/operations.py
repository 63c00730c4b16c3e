"""Panels of what NFS operations cost, for one mount target or for chosen clients."""

from tools.generate.dashboards.colours import CLASS_COLOURS
from tools.generate.dashboards.panels import Panel, Query, graph, lines
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import CLASSES, once_a_mount

from fss_exporter.model.operations import FIXED_COSTS, read_io_operations

_RENAME = FIXED_COSTS["RENAME"]
_LARGE_READ = read_io_operations(1 << 20)


def cost_by_class(title: str, by_class: str, *, width: int) -> Panel:
    """Estimated IOPS by class, one on top of the other; `by_class` is an expression with the label `class`."""
    return graph(
        title,
        "Estimated IOPS of the clients with an agent by class of operations: this is what uses up the ceiling. Much metadata read: attribute "
        "caching (actimeo), fewer listings. Much read or write at small sizes: larger I/O.",
        Query(f"sum by (class) ({by_class})", "{{class}}"),
        unit="iops",
        stacked=True,
        renames=CLASSES,
        overrides=lines(CLASS_COLOURS),
        width=width,
    )


def busiest_operations(cost: str, operations: str, *, width: int, height: int) -> Panel:
    """A table of operations by cost; both expressions have the label `operation`."""
    return table(
        "Operations by cost",
        f"NFS operations of the clients with an agent, and what they cost. A RENAME costs as much as {_RENAME} GETATTRs, a READ of 1 MiB as "
        f"much as {_LARGE_READ}. Reduce the operation on top first.",
        Query(f"sum by (operation) ({cost}) > 0", "iops"),
        Query(f"sum by (operation) ({operations}) > 0", "operations"),
        columns={
            "operation": Column("Operation"),
            "iops": Column("Estimated IOPS", unit="iops", width=140),
            "operations": Column("Operations", unit="ops", width=110),
        },
        sort_by="Estimated IOPS",
        width=width,
        height=height,
    )


def _transfer_cost(name: str, selector: str) -> str:
    return f'rate(fss_client_estimated_io_operations_total{{class="{name}", {selector}}}[$__rate_interval])'


def cost_by_operation(selector: str) -> str:
    """Cost of each operation, from the counters of the clients themselves; all but READ and WRITE cost the same each time."""
    fixed = (
        f"sum by (operation) ({once_a_mount(f'rate(fss_client_operations_total{{{selector}}}[$__rate_interval])', 'operation')})"
        "\n* on (operation) group_left () operation:fss_io_operations_per_operation:ratio"
    )
    transfers = (
        f'label_replace(sum({once_a_mount(_transfer_cost(name.lower(), selector))}), "operation", "{name}", "", "")'
        for name in ("READ", "WRITE")
    )
    return "\nor\n".join((fixed, *transfers))
