# SPDX-License-Identifier: Apache-2.0
"""Monitoring (20180401), alarms: Create, Get, Update, Delete, List. The region keeps alarms and evaluates none."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.api_operations import ApiAnswer, Call, Handler
from fss_toolbox.demo.region.demo_tenancy import ocid
from fss_toolbox.demo.region.inventory_api import etag, rfc3339
from fss_toolbox.demo.region.monitoring_api import MonitoringApi
from fss_toolbox.demo.region.wire import paged
from fss_toolbox.mql import is_trigger

# Values that the service fills in for fields that are not given, documented.
DEFAULTS: dict[str, Any] = {
    "metricCompartmentIdInSubtree": False,
    "resolution": "1m",
    "pendingDuration": "PT1M",
    "isNotificationsPerMetricDimensionEnabled": False,
    "messageFormat": "RAW",
    "ruleName": "BASE",
    "evaluationSlackDuration": "PT3M",
    "freeformTags": {},
    "definedTags": {},
    "overrides": [],
}

RETRY_TOKEN_SECONDS = 24 * 3600  # Life of a retry token, documented: CreateAlarm

_ONLY_IN_GET = {"body", "messageFormat", "pendingDuration", "resolution", "repeatNotificationDuration"}
_ONLY_IN_GET |= {"metricCompartmentIdInSubtree", "timeCreated", "timeUpdated"}


@dataclass(frozen=True, slots=True)
class UsedToken:
    """A retry token that a creation named."""

    details: str  # body of the request
    alarm_id: str  # OCID of the alarm that it made
    used_at: float  # epoch seconds


@dataclass(slots=True)
class StoredAlarm:
    """An alarm, with the body as Get shows the alarm."""

    body: dict[str, Any]
    version: int = 1

    @property
    def etag(self) -> str:
        """The version as if-match names it."""
        return etag((self.body["id"], self.version))

    @property
    def is_active(self) -> bool:
        """Whether the alarm is not deleted."""
        return bool(self.body["lifecycleState"] == "ACTIVE")

    def answer(self) -> ApiAnswer:
        """Return the whole alarm."""
        return ApiAnswer(dict(self.body), headers={"etag": self.etag})


class AlarmsApi:
    """The alarms of a region.

    Attributes:
        monitoring: metrics, with tenancy, clock and limits.
        alarms: alarms by OCID, deleted ones included. `lock` guards them and the retry tokens.
    """

    def __init__(self, monitoring: MonitoringApi) -> None:
        self.monitoring = monitoring
        self.alarms: dict[str, StoredAlarm] = {}
        self._tokens: dict[str, UsedToken] = {}
        self.lock = threading.RLock()

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers by API operation."""
        return {
            "ListAlarms": self.list_alarms,
            "CreateAlarm": self.create,
            "GetAlarm": self.get,
            "UpdateAlarm": self.update,
            "DeleteAlarm": self.delete,
        }

    def check(self, alarm: Mapping[str, Any]) -> None:
        """Refuse an alarm with a query that cannot trigger. A `Refusal` (400) names the mistake."""
        for query in (alarm["query"], *(override.get("query") for override in alarm["overrides"])):
            if query is not None and not is_trigger(self.monitoring.parsed(query)):
                raise refusal.invalid(f"field query: an alarm needs a threshold or absent(), and {query} has none")

    def create(self, call: Call) -> ApiAnswer:
        """CreateAlarm. A retry token makes a repeated call answer with the alarm of the first, as it is now."""
        token, details = call.headers.get("opc-retry-token", ""), call.body.model_dump_json()
        given = call.body.model_dump(mode="json", by_alias=True, exclude_none=True)
        times = dict.fromkeys(("timeCreated", "timeUpdated"), rfc3339(self.monitoring.now()))
        body = _complete(given) | {"lifecycleState": "ACTIVE", **times}
        self.check(body)
        with self.lock:
            if token and (earlier := self._repeated(token, details)):
                return earlier.answer()
            stored = self.add(body)
            if token:
                self._tokens[token] = UsedToken(details, stored.body["id"], self.monitoring.now())
            return stored.answer()

    def add(self, body: dict[str, Any]) -> StoredAlarm:
        """Keep a new alarm."""
        tenancy = self.monitoring.activity.tenancy
        body["id"] = ocid("alarm", tenancy.region, f"{tenancy.id}/{len(self.alarms)}")
        stored = self.alarms[body["id"]] = StoredAlarm(body)
        return stored

    def _repeated(self, token: str, details: str) -> StoredAlarm | None:
        """Return the alarm of an earlier call with the token. Documented: a token expires, and other facts invalidate it."""
        used = self._tokens.get(token)
        if used is None or self.monitoring.now() - used.used_at > RETRY_TOKEN_SECONDS:
            return None
        stored = self.alarms[used.alarm_id]
        if used.details != details or not stored.is_active:
            raise refusal.invalidated_retry_token()
        return stored

    def get(self, call: Call) -> ApiAnswer:
        """GetAlarm."""
        with self.lock:
            return self.stored(call).answer()

    def update(self, call: Call) -> ApiAnswer:
        """UpdateAlarm: named fields change, the others stay."""
        with self.lock:
            stored = self.stored(call)
            given = call.body.model_dump(mode="json", by_alias=True, exclude_unset=True)
            body = _complete({name: value for name, value in (stored.body | given).items() if value is not None})
            self.check(body)
            self._change(stored, body)
            return stored.answer()

    def delete(self, call: Call) -> ApiAnswer:
        """DeleteAlarm."""
        with self.lock:
            stored = self.stored(call)
            self._change(stored, stored.body | {"lifecycleState": "DELETED"})
            return ApiAnswer(status=HTTPStatus.NO_CONTENT)

    def _change(self, stored: StoredAlarm, body: dict[str, Any]) -> None:
        stored.body = body | {"timeUpdated": rfc3339(self.monitoring.now())}
        stored.version += 1

    def stored(self, call: Call) -> StoredAlarm:
        """Return the alarm of a call, in the version that if-match names."""
        stored = self.alarms.get(call.path["id"])
        if stored is None or not stored.is_active:
            raise refusal.not_authorized_or_not_found("alarm")
        if call.headers.get("if-match", stored.etag) not in (stored.etag, "*"):
            raise refusal.etag_mismatch()
        return stored

    def bodies(self, query: Any, state: str) -> list[dict[str, Any]]:
        """Return the alarms that a query lists."""
        scope = self.monitoring.scope(query.compartment_id, subtree=query.compartment_id_in_subtree)
        with self.lock:
            return [
                stored.body
                for stored in self.alarms.values()
                if stored.body["lifecycleState"] == state and stored.body["compartmentId"] in scope
                if query.display_name in (None, stored.body["displayName"])
            ]

    def list_alarms(self, call: Call) -> ApiAnswer:
        """ListAlarms: summaries, with fewer fields than Get answers."""
        bodies = self.bodies(call.query, call.query.lifecycle_state)
        summaries = [{name: value for name, value in body.items() if name not in _ONLY_IN_GET} for body in bodies]
        return paged(summaries, call.query, self.monitoring.limits.page)


def _complete(given: dict[str, Any]) -> dict[str, Any]:
    """Return a body with defaults. A stream as destination forces RAW messages, documented: messageFormat."""
    body = DEFAULTS | given
    if any(".stream." in destination for destination in body["destinations"]):
        body["messageFormat"] = "RAW"
    return body
