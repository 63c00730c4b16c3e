"""The real SDK's clients, pointed at a demo region: one account, no retries, no circuit breaker."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import oci
import pytest
from oci.circuit_breaker import NoCircuitBreakerStrategy
from oci.retry import NoneRetryStrategy
from tests.clock import NOW
from tests.region import Account, Region

MINUTE = int(NOW // 60)


@dataclass(frozen=True)
class Clients:
    """The clients an exporter uses. `raw` keeps answers as parsed JSON."""

    region: Region
    config: dict[str, str]
    raw: bool = False

    def _client(self, kind: Callable[..., Any]) -> Any:
        return kind(
            self.config,
            service_endpoint=self.region.url,
            retry_strategy=NoneRetryStrategy(),
            circuit_breaker_strategy=NoCircuitBreakerStrategy(),
            skip_deserialization=self.raw,
            timeout=(60, 60),
        )

    @cached_property
    def monitoring(self) -> Any:
        return self._client(oci.monitoring.MonitoringClient)

    @cached_property
    def file_storage(self) -> Any:
        return self._client(oci.file_storage.FileStorageClient)

    @cached_property
    def identity(self) -> Any:
        return self._client(oci.identity.IdentityClient)

    @cached_property
    def network(self) -> Any:
        return self._client(oci.core.VirtualNetworkClient)

    @cached_property
    def limits(self) -> Any:
        return self._client(oci.limits.LimitsClient)

    @cached_property
    def lustre(self) -> Any:
        return self._client(oci.lustre_file_storage.LustreFileStorageClient)

    @cached_property
    def block(self) -> Any:
        return self._client(oci.core.BlockstorageClient)

    def summarize(self, query: str, **details: Any) -> Any:
        """Streams of a query over the whole tenancy."""
        namespace = details.pop("namespace", "oci_filestorage")
        body = oci.monitoring.models.SummarizeMetricsDataDetails(namespace=namespace, query=query, **details)
        ask = self.monitoring.summarize_metrics_data
        return ask(self.region.tenancy.id, body, compartment_id_in_subtree=True).data

    def truth(self, metric: str, resource: str, minute: int, **dimensions: str) -> float:
        """A value the region certainly publishes."""
        value = self.region.truth(metric, resource, minute, **dimensions)
        assert value is not None
        return value


def config_of(account: Account, region: str) -> dict[str, str]:
    return {
        "user": account.user_id,
        "tenancy": account.tenancy_id,
        "fingerprint": account.fingerprint,
        "key_content": account.pem,
        "region": region,
    }


def clients(region: Region, *, raw: bool = False) -> Clients:
    return Clients(region, config_of(region.account, region.tenancy.region), raw=raw)


@contextmanager
def refused(status: int, code: str, *words: str) -> Iterator[None]:
    """The service says no, with this status and code, and its message holds these words."""
    with pytest.raises(oci.exceptions.ServiceError) as caught:
        yield
    assert (caught.value.status, caught.value.code) == (status, code), caught.value.message
    for word in words:
        assert word in caught.value.message
    assert caught.value.request_id
