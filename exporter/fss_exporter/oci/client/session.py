# SPDX-License-Identifier: Apache-2.0
"""Calls in one region.

Each attempt waits for the budget, is counted, and fails only with this project's errors. Three deviations from the SDK:

- Retries are few and short, because a poll has a minute.
- Every client has a circuit breaker, because the SDK shares a single breaker in the whole process.
- Answers are parsed JSON, because the SDK's models cost fifty times as much.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from secrets import token_hex
from typing import Any, Final, NamedTuple

from circuitbreaker import CircuitBreakerError
from oci.circuit_breaker import CircuitBreakerStrategy
from oci.exceptions import ClientError, ServiceError

from fss_exporter.errors import BrokenAnswer, CloudError, Throttled, Unreachable
from fss_exporter.oci.calls import CallBudget
from fss_exporter.oci.client.bounded_http import limit_answers, proxy_of, read_environment_once
from fss_exporter.oci.client.credentials import Credentials
from fss_exporter.oci.client.failures import broken, clock_skew, translate
from fss_exporter.oci.client.service_clients import decode_json, open_client
from fss_exporter.oci.iam import statement
from fss_exporter.ocid import kind_of
from fss_exporter.settings import Oci

_ATTEMPTS: Final = 3
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 4.0
_STALE_CONNECTION_SECONDS: Final = 1.0  # a kept connection that the other side has closed fails at once

_COMPARTMENTS: Final = frozenset(("compartment", "tenancy"))  # types in their OCIDs

_MOST_PAGES: Final = 1000  # most pages of one listing. A page has up to 1,000 items
_MOST_WITHOUT_NEWS = 10  # pages in a row. OCI may send a few empty ones

Record = Callable[[str, str, str, float], None]  # Records every attempt: region, API operation, outcome, seconds


_WITHOUT_PAGES: Final = {"list_availability_domains"}  # its documentation has no page token


class CloudAnswer(NamedTuple):
    """The answer to a call."""

    data: Any  # None after a deletion
    headers: Mapping[str, str]


class Session:
    """Calls in one region, on plain JSON.

    Attributes:
        clock_skew_seconds: clock of this host minus clock of OCI, from the Date header of the last answer, which has whole
            seconds. None before the first answer.
        tenancy_id: OCID of the tenancy.
        tenancy: name of the account in the configuration, else the OCID.

    Args:
        held: credentials that sign requests.
        region: name of the region.
        settings: endpoints and time-outs.
        budget: budget of calls, which lets a call wait.
        inventory_budget: budget of the calls that Monitoring does not count. None for that of all calls.
        record: called for every attempt.
        clock: seconds that never go back.
        now: returns epoch seconds of this host.
        jitter: returns a number from 0 to 1, another one for each pause.
    """

    def __init__(
        self,
        held: Credentials,
        region: str,
        settings: Oci,
        *,
        budget: CallBudget,
        inventory_budget: CallBudget | None = None,
        record: Record = lambda *_: None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._held = held
        self.region = region
        self.settings = settings
        self._budget = budget
        self._inventory_budget = inventory_budget or budget
        self._record = record
        self._clock = clock
        self._now = now
        self._jitter = jitter
        self.clock_skew_seconds: float | None = None
        self._answered: tuple[float, float] | None = None  # `now` and `clock` at that answer
        self._clients: dict[str, Any] = {}
        self._opening = threading.Lock()
        # The SDK keeps each circuit breaker for ever, by name. Clients of new credentials take those of the old ones.
        self._breakers = token_hex(8)
        self.tenancy_id = self._held.tenancy_id
        self.tenancy = self.settings.name or self.tenancy_id

    def call(
        self,
        service: str,
        operation: str,
        ocid: str | None = None,
        *,
        body: Mapping[str, Any] | None = None,
        decode: Callable[[bytes], Any] = decode_json,
        attempts: int = _ATTEMPTS,
        **options: Any,
    ) -> CloudAnswer:
        """Call an operation of a service (`file_storage`, `list_mount_targets`), and try again after temporary errors.

        Args:
            service: name of the service in `open_client`.
            operation: method of the SDK's client.
            ocid: first argument of the method, if it is not named in the options.
            body: argument of the method for the body of the request, such as `create_alarm_details`.
            decode: returns the data of the answer, from JSON.
            attempts: most attempts.
            options: further arguments of the method.

        Raises:
            CloudError: of the last attempt, or of an account that the SDK cannot use.
            EndLoop: the poller stops.
        """
        client = self._client(service)
        arguments = () if ocid is None else (ocid,)
        if body is not None:
            options[f"{operation}_details"] = body
        given = str(options.get("compartment_id") or ocid or "")
        asked = (given if kind_of(given) in _COMPARTMENTS else "", str((body or {}).get("namespace") or ""))

        def send() -> CloudAnswer:
            response = getattr(client, operation)(*arguments, **options)
            data = None if response.data is None else decode(response.data)
            self._note_clock(response.headers)
            return CloudAnswer(data, response.headers)

        budget = self._budget if service.startswith("monitoring") else self._inventory_budget
        attempt = 1
        while True:
            budget.spend()
            began = self._clock()
            try:
                return self._attempt(send, operation, asked, proxy_of(client.base_client))
            except CloudError as error:
                if attempt == attempts or not _worth_another(error, self._clock() - began):
                    raise
                budget.pause(self._pause(attempt, error))
            attempt += 1

    def pages(
        self,
        service: str,
        operation: str,
        ocid: str | None = None,
        *,
        body: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Iterator[list[Any]]:
        """Yield every page of a listing as a list of items. Arguments and errors are like `call`.

        A repeated page token, more than ten pages in a row that bring no new items, or more than 1,000 pages raise `BrokenAnswer`.
        """
        tokens: set[str] = set()
        more: dict[str, Any] = {}
        before: list[Any] = []
        without_news = 0
        while True:
            answer = self.call(service, operation, ocid, body=body, **options, **more)
            items = answer.data.get("items") if isinstance(answer.data, dict) else answer.data
            if not isinstance(items, list):
                raise broken("the answer is not a list", api_name(operation), self.region)
            yield items
            token = answer.headers.get("opc-next-page")
            if not token or operation in _WITHOUT_PAGES:
                return
            without_news = without_news + 1 if not items or items == before else 0
            before = items
            if token in tokens or len(tokens) >= _MOST_PAGES or without_news > _MOST_WITHOUT_NEWS:
                raise broken(f"the listing does not end after {len(tokens)} pages", api_name(operation), self.region)
            tokens.add(token)
            more = {"page": token}

    def oci_now(self) -> float:
        """Return the time of OCI in epoch seconds: that of the last answer and the time since by `clock`. `now` before the first answer.

        A clock of this host that is wrong, or that jumps, changes nothing.
        """
        if self._answered is None or self.clock_skew_seconds is None:
            return self._now()
        answered_at, clock = self._answered
        return answered_at - self.clock_skew_seconds + self._clock() - clock

    def use_credentials(self, held: Credentials) -> None:
        """Sign with other credentials from the next call on."""
        self._held, self._clients = held, {}

    def _attempt(
        self, send: Callable[[], CloudAnswer], operation: str, asked: tuple[str, str], proxy: str
    ) -> CloudAnswer:
        """Make one attempt by way of a proxy, if any. `asked` are the compartment and the namespace of metrics in the call, if any."""
        name, began = api_name(operation), self._clock()
        outcome = CloudError.outcome
        try:
            answer = send()
        except Exception as error:
            if isinstance(error, ServiceError) and error.code:  # without a code a proxy answers, with its own clock
                self._note_clock(error.headers)
            ended = self._held.token.advice(self._now()) if self._held.token else ""
            needed = statement(name, self._held.auth, *asked)
            failure = translate(error, name, self.region, needed=needed, ended=ended, proxy=proxy)
            if failure is None:
                raise
            outcome = "" if isinstance(error, CircuitBreakerError) else failure.outcome
            raise failure from error
        else:
            outcome = "ok"
            return answer
        finally:
            if outcome:  # the circuit breaker lets nothing leave
                self._record(self.region, name, outcome, self._clock() - began)

    def _note_clock(self, headers: Mapping[str, str]) -> None:
        now = self._now()
        skew = clock_skew(headers, now)
        if skew is not None:
            self.clock_skew_seconds, self._answered = skew, (now, self._clock())

    def _pause(self, attempt: int, error: CloudError) -> float:
        longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        least = longest / 2 if isinstance(error, Throttled) else 0.0
        return float(least + (longest - least) * self._jitter())

    def _client(self, service: str) -> Any:
        clients = self._clients  # other credentials bring another dict, which gets no client of the old credentials
        with self._opening:
            if service not in clients:
                clients[service] = self._open(service)
        return clients[service]

    def _open(self, service: str) -> Any:
        settings = self.settings
        options: dict[str, Any] = {
            "signer": self._held.signer,
            "circuit_breaker_strategy": CircuitBreakerStrategy(name=f"{self._breakers} {service}"),
            "timeout": (settings.connect_timeout, settings.read_timeout),
        }
        endpoint = getattr(settings.endpoints, service) or settings.endpoint
        if endpoint:
            options["service_endpoint"] = endpoint.replace("{region}", self.region)
        try:
            client = open_client(service, {**self._held.config, "region": self.region}, **options)
        except (ClientError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise CloudError(f"oci: cannot open {service} in {self.region}: {reason}", operation=service) from error
        limit_answers(client.base_client, max(settings.answer_timeout, settings.read_timeout))
        read_environment_once(client.base_client)
        return client


def api_name(operation: str) -> str:
    """Return the API name of a method: `ListMountTargets` for `list_mount_targets`."""
    return "".join(part.capitalize() for part in operation.split("_"))


def _worth_another(error: CloudError, seconds: float) -> bool:
    if isinstance(error, Unreachable):
        return seconds < _STALE_CONNECTION_SECONDS and not isinstance(error.__cause__, CircuitBreakerError)
    return isinstance(error, Throttled | BrokenAnswer)
