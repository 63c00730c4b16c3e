"""Calls in one region.

Each attempt waits for the budget, is accounted for, and fails only with this project's own errors. Retries are few and short,
because a poll has a minute; every client has a circuit breaker of its own, because the SDK's default is one for the
whole process; answers are parsed JSON, because the SDK's models cost fifty times that.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from circuitbreaker import CircuitBreakerError
from oci.circuit_breaker import CircuitBreakerStrategy
from oci.exceptions import ClientError
from oci.retry import NoneRetryStrategy

from fss_exporter.errors import BrokenAnswer, CloudError, Throttled, Unreachable, UsageError
from fss_exporter.oci.call_budget import Budget
from fss_exporter.oci.client.credentials import Credentials
from fss_exporter.oci.client.failures import broken, translate
from fss_exporter.oci.iam import statement

_CLIENTS: Final = MappingProxyType(
    {
        "monitoring": ("fss_exporter.oci.client.monitoring", "MonitoringClient"),
        "monitoring_ingestion": ("oci.monitoring", "MonitoringClient"),  # PostMetricData has a host of its own
        "file_storage": ("oci.file_storage", "FileStorageClient"),
        "identity": ("oci.identity", "IdentityClient"),
        "virtual_network": ("fss_exporter.oci.client.network", "NetworkClient"),
        "lustre_file_storage": ("fss_exporter.oci.client.service_clients", "LustreClient"),
        "block_storage": ("fss_exporter.oci.client.service_clients", "BlockStorageClient"),
    }
)

_ATTEMPTS: Final = 3
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 4.0
_STALE_CONNECTION_SECONDS: Final = 1.0  # a kept connection that the other side has closed fails at once

Record = Callable[[str, str, str, float], None]
"""Told of every attempt: region, API operation, outcome, seconds."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the services are and how long to wait for them.

    Attributes:
        endpoints: base URL by service (`monitoring`, `file_storage`, `identity`, `virtual_network`); `{region}` stands
            for the region. A service that is not in it has the SDK's own endpoint.
        connect_timeout_seconds: until the connection stands.
        read_timeout_seconds: until the next byte of an answer.
    """

    endpoints: Mapping[str, str] = field(default_factory=dict)
    connect_timeout_seconds: float = 3.0
    read_timeout_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Parsed JSON of an answer and its headers."""

    data: Any
    headers: Mapping[str, str]


class Session:
    """Calls in one region, on plain JSON.

    Args:
        held: what to sign with.
        region: the region's name.
        reach: endpoints and time-outs.
        budget: waits until a call may leave.
        record: told of every attempt.
        clock: seconds that never go back.
        jitter: a number from 0 to 1, anew for each pause.
    """

    def __init__(
        self,
        held: Credentials,
        region: str,
        reach: Reach,
        *,
        budget: Budget,
        record: Record = lambda *_: None,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.region = region
        self.tenancy_id = held.tenancy_id
        self._held = held
        self._reach = reach
        self._budget = budget
        self._record = record
        self._clock = clock
        self._jitter = jitter
        self._clients: dict[str, Any] = {}

    def call(self, service: str, operation: str, *arguments: object, **options: object) -> Answer:
        """One operation, tried again where that can help.

        Args:
            service: `monitoring`, `file_storage`, `identity` or `virtual_network`.
            operation: the SDK's method, e.g. `list_mount_targets`.
            arguments: positional, as the SDK has them; a body is a plain dict.
            options: by keyword.

        Raises:
            CloudError: the last attempt's error.
            UsageError: the credentials cannot be used.
            Stopped: the poller is to stop.
        """
        method = getattr(self._client(service), operation)
        attempt = 1
        while True:
            self._budget.spend()
            began = self._clock()
            try:
                return self._attempt(method, operation, arguments, options)
            except CloudError as error:
                if attempt == _ATTEMPTS or not _worth_another(error, self._clock() - began):
                    raise
                self._budget.pause(self._pause(attempt, error))
            attempt += 1

    def pages(self, service: str, operation: str, *arguments: object, **options: object) -> Iterator[list[Any]]:
        """Every page of a listing, each a list; arguments and errors as `call`."""
        page: str | None = None
        while True:
            more = {} if page is None else {"page": page}
            answer = self.call(service, operation, *arguments, **options, **more)
            rows = answer.data.get("items") if isinstance(answer.data, dict) else answer.data
            if not isinstance(rows, list):
                raise broken("the answer is not a list", api_name(operation), self.region)
            yield rows
            page = answer.headers.get("opc-next-page")
            if not page:
                return

    def _attempt(
        self, method: Callable[..., Any], operation: str, arguments: tuple[object, ...], options: Mapping[str, object]
    ) -> Answer:
        name, began = api_name(operation), self._clock()
        outcome = "ok"
        try:
            response = method(*arguments, **options, retry_strategy=NoneRetryStrategy())
            answer = Answer(response.data, response.headers)
        except Exception as error:
            asked = (_compartment_of(arguments, options), _namespace_of((*arguments, *options.values())))
            known = translate(error, name, self.region, needed=statement(name, self._held.auth, *asked))
            if known is None:
                raise
            outcome = "" if isinstance(error, CircuitBreakerError) else known.outcome
            raise known from error
        else:
            if isinstance(answer.data, str):  # what the SDK gives where it finds no JSON
                outcome = BrokenAnswer.outcome
                raise broken("the answer is not JSON", name, self.region)
            return answer
        finally:
            if outcome:  # the circuit breaker lets nothing leave
                self._record(self.region, name, outcome, self._clock() - began)

    def _pause(self, attempt: int, error: CloudError) -> float:
        longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        least = longest / 2 if isinstance(error, Throttled) else 0.0
        return float(least + (longest - least) * self._jitter())

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._open(service)
        return self._clients[service]

    def _open(self, service: str) -> Any:
        module, name = _CLIENTS[service]
        options: dict[str, Any] = {
            "signer": self._held.signer,
            "skip_deserialization": True,
            "circuit_breaker_strategy": CircuitBreakerStrategy(),
            "timeout": (self._reach.connect_timeout_seconds, self._reach.read_timeout_seconds),
        }
        endpoint = self._reach.endpoints.get(service)
        if endpoint:
            options["service_endpoint"] = endpoint.replace("{region}", self.region)
        try:
            client = getattr(import_module(module), name)({**self._held.config, "region": self.region}, **options)
        except (ClientError, ValueError) as error:
            raise UsageError(f"oci: cannot open {service} in {self.region}: {' '.join(str(error).split())}") from error
        if service == "monitoring_ingestion" and not endpoint:
            own = client.base_client
            own.endpoint = own.endpoint.replace("://telemetry.", "://telemetry-ingestion.", 1)
        return client


def _compartment_of(arguments: tuple[object, ...], options: Mapping[str, object]) -> str:
    """OCID of the compartment a call is about; empty where it is about something else."""
    given = (options.get("compartment_id"), *arguments)
    kinds = ("ocid1.compartment.", "ocid1.tenancy.")
    return next((one for one in given if isinstance(one, str) and one.startswith(kinds)), "")


def _namespace_of(given: Iterable[object]) -> str:
    """Namespace of the metrics a call is about; empty where it is about something else."""
    bodies = (one for one in given if isinstance(one, Mapping))
    return next((str(body["namespace"]) for body in bodies if body.get("namespace")), "")


def api_name(operation: str) -> str:
    """`list_mount_targets` as the API calls it: `ListMountTargets`."""
    return "".join(part.capitalize() for part in operation.split("_"))


def _worth_another(error: CloudError, seconds: float) -> bool:
    if isinstance(error, Unreachable):
        return seconds < _STALE_CONNECTION_SECONDS and not isinstance(error.__cause__, CircuitBreakerError)
    return isinstance(error, Throttled | BrokenAnswer)
