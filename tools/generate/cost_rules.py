"""The recording rules with the measured costs of a configuration: `python -m tools.generate.cost_rules CONFIGURATION DIRECTORY`.

Writes clients.yml and node_exporter.yml into DIRECTORY. Comments of the shipped files are lost. Without `cost_model` in
the configuration the rules are those of the repository.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fss_exporter.errors import FssError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.operations import METADATA_READ, METADATA_WRITE, READ, READ_CLASS, WRITE, WRITE_CLASS, class_of
from fss_exporter.settings import load

RULES = Path(__file__).parents[2] / "rules"
_RATE = 'rate(node_mountstats_nfs_operations_requests_total{{operation=~"{}"}}[5m])'
_TRANSFERS = 'node_mount:fss_transfers:rate5m{{class="{}"}}'
_COSTS = "operation:fss_io_operations_per_operation:ratio"
_ESTIMATE = "node_class:fss_client_estimated_iops:rate5m"
_BOUNDS = (
    "address_class:fss_client_estimated_iops_lower_bound:rate5m",
    "address_class:fss_client_estimated_iops_upper_bound:rate5m",
)


def rendered(name: str, overrides: CostOverrides) -> str:
    """A rules file with the costs in force.

    Args:
        name: of the file in rules/.
        overrides: measured costs.
    """
    document = yaml.safe_load((RULES / name).read_text())
    for group in document["groups"]:
        for rule in group["rules"]:
            rule["expr"] = _expression(rule, overrides)
    return yaml.safe_dump(document, sort_keys=False, width=10_000)


def _expression(rule: Mapping[str, Any], overrides: CostOverrides) -> str:
    record, kind = rule.get("record", ""), rule.get("labels", {}).get("class", "")
    expression = str(rule["expr"])
    if record == _COSTS:
        return " or ".join(
            f'{cost:g} * group by (operation) (address_operation:fss_client_operations:rate5m{{operation=~"{names}"}})'
            for cost, names in _by_cost(overrides.weights)
        )
    if record == _ESTIMATE and kind in (METADATA_READ, METADATA_WRITE):
        return _metadata(kind, overrides.weights)
    if record in (_ESTIMATE, *_BOUNDS):
        for transferred, operation in ((READ_CLASS, READ), (WRITE_CLASS, WRITE)):
            factor, transfers = overrides.factors.get(operation, 1.0), _TRANSFERS.format(transferred)
            if factor != 1.0:
                expression = expression.replace(transfers, f"{factor:g} * {transfers}")
    return expression


def _metadata(kind: str, weights: Mapping[str, float]) -> str:
    """Cost of the operations of a class, operations of one cost together."""
    of_class = {name: cost for name, cost in weights.items() if cost and class_of(name) == kind}
    rates = (f"{cost:g} * {_RATE.format(names)}" for cost, names in _by_cost(of_class))
    return f"sum by (network, cluster, instance, mountaddr) (max by (network, cluster, instance, mountaddr, export, operation) ({' or '.join(rates)}))"


def _by_cost(weights: Mapping[str, float]) -> list[tuple[float, str]]:
    """Each cost with the operations that have it, as a pattern."""
    by_cost: dict[float, list[str]] = {}
    for name, cost in sorted(weights.items()):
        by_cost.setdefault(cost, []).append(name)
    return [(cost, "|".join(names)) for cost, names in sorted(by_cost.items())]


def main() -> None:
    """Write both files."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tools.generate.cost_rules CONFIGURATION DIRECTORY")
    try:
        overrides = load(Path(sys.argv[1])).cost_model.overrides
    except FssError as error:
        sys.exit(str(error))
    target = Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for name in ("clients.yml", "node_exporter.yml"):
        (target / name).write_text(rendered(name, overrides))


if __name__ == "__main__":
    main()
