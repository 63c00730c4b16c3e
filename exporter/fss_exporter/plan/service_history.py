"""The busiest five minutes of file systems and volumes of another storage service, from a Prometheus that scrapes a poller."""

from collections.abc import Mapping
from typing import Final

from fss_exporter.errors import SourceError
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import Ceilings
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.plan.client_history import of_clients
from fss_exporter.plan.load import Load, busiest_moment, ended
from fss_exporter.plan.prometheus_api import Prometheus, selector

_READS: Final = "fss_service_read_operations_per_second"
_WRITES: Final = "fss_service_write_operations_per_second"
_READ: Final = "fss_service_read_bytes_per_second"
_WRITTEN: Final = "fss_service_write_bytes_per_second"
_RATES: Final = (_READS, _WRITES, _READ, _WRITTEN)
_RESOURCE: Final = "by (resource_id, resource)"

_Resource = tuple[str, str]  # OCID and name


def of_service(prometheus: Prometheus, service: str, ceilings: Ceilings, wanted: str | None) -> dict[str, Load]:
    """Return loads of file systems and volumes by name, from a poller, else loads of clients by address.

    Without ceilings, the limits that OCI publishes decide which moment is the busiest. `wanted` is a name, OCID or address.

    Raises:
        SourceError: Prometheus does not answer, or has no series of the service.
    """
    loads = _published(prometheus, service, ceilings, wanted) or _of_clients(prometheus, service, ceilings, wanted)
    if not loads:
        of = f" called {wanted}" if wanted else ""
        raise SourceError(
            f"Prometheus has nothing of {service}{of} of the last week. Is a poller or are clients scraped?"
        )
    return loads


def _of_clients(prometheus: Prometheus, service: str, ceilings: Ceilings, wanted: str | None) -> dict[str, Load]:
    """Loads of the addresses of the service. Of all addresses where no client names the service."""
    known = prometheus.at(f"last_over_time(fss_client_service_info{selector('service', service)}[7d])", prometheus.now)
    addresses = {labels.get("address", "") for labels, _ in known}
    loads = of_clients(prometheus, lambda _: ceilings, wanted)
    return {address: load for address, load in loads.items() if address in (addresses or loads)}


def _published(prometheus: Prometheus, service: str, ceilings: Ceilings, wanted: str | None) -> dict[str, Load]:
    own = _limits(prometheus, service) if ceilings == Ceilings() else {}
    of = selector("service", service)
    queries = {name: f"max {_RESOURCE} (avg_over_time({name}{of}[5m]))" for name in _RATES}
    loads = {}
    for resource, figures in prometheus.figures(queries, _resource, needed=_RATES).items():
        if wanted in {None, *resource}:
            history = {moment: _traffic(one) for moment, one in figures.items()}
            at = busiest_moment(history, own.get(resource, ceilings))
            loads[wanted or resource[1] or resource[0]] = Load(ended(at), history[at])
    return loads


def _limits(prometheus: Prometheus, service: str) -> dict[_Resource, Ceilings]:
    def newest(name: str) -> dict[_Resource, float]:
        query = f"max {_RESOURCE} (last_over_time({name}{selector('service', service)}[7d]))"
        return {_resource(labels): value for labels, value in prometheus.at(query, prometheus.now)}

    iops, both = newest("fss_service_iops_limit"), newest("fss_service_bytes_per_second_limit")
    return {one: Ceilings(iops=iops.get(one), bytes_per_second=both.get(one)) for one in iops | both}


def _resource(labels: Mapping[str, str]) -> _Resource:
    return labels.get("resource_id", ""), labels.get("resource", "")


def _traffic(figures: Mapping[str, float]) -> Traffic:
    rates = {READ: figures[_READS], WRITE: figures[_WRITES]}
    operations = {name: OperationTraffic(rate, Bounds(rate, rate, rate)) for name, rate in rates.items()}
    return Traffic(operations, figures[_READ], figures[_WRITTEN])
