"""What each mount target can bear: the shape's ceilings, with what the configuration says instead. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fss_exporter.model.limits import Limits, shape_of
from fss_exporter.oci.inventory import MountTarget

Given = Mapping[str, float | None]
"""Ceilings by the name of a field of `Limits`; None takes one away."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Ceilings that replace the published ones.

    Attributes:
        shapes: by name of the shape.
        mount_targets: by OCID or display name; they win, and the OCID over the name.
    """

    shapes: Mapping[str, Given] = field(default_factory=dict)
    mount_targets: Mapping[str, Given] = field(default_factory=dict)

    def limits(self, target: MountTarget) -> Limits:
        """The ceilings of one mount target; None where there is none."""
        shape = shape_of(target.observed_throughput_gbps)
        given: dict[str, float | None] = {}
        for layer in (self.shapes.get(shape.name), *(self.mount_targets.get(key) for key in (target.name, target.id))):
            given |= layer or {}
        return replace(shape.limits, **given)
