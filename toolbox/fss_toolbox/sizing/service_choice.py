# SPDX-License-Identifier: Apache-2.0
"""A storage service as the operator chooses it."""

from dataclasses import dataclass

from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import Service, ServiceType


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    """A service with the operator's choice of type and capacity."""

    service: Service  # the service
    kind: ServiceType | None = None  # type. None if the operator names none
    capacity_bytes: float | None = None  # capacity. None if the operator names none

    @property
    def ceilings(self) -> Limits:
        """The ceilings, as far as type and capacity determine them."""
        return Limits() if self.kind is None else self.kind.ceilings(self.capacity_bytes)
