"""A region that refuses every call that no policy statement allows."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from tests.region.strict import Region

from fss_exporter.oci.iam import NEEDS
from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.api_operations import ApiOperation
from fss_toolbox.demo.region.wire import ApiRequest

_VERBS: Final = ("inspect", "read", "use", "manage")
_STATEMENT: Final = re.compile(
    r"Allow \S.* to (?P<verb>\w+) (?P<resource>[\w-]+) in (?:tenancy|compartment id (?P<compartment>\S+))"
    r"(?: where target\.metrics\.namespace='(?P<namespace>\w+)')?"
)
_NEEDS: Final = {**NEEDS, "ListPrivateIps": NEEDS["GetPrivateIp"]}
_PAGE: Final = Path(__file__).parents[2] / "docs/security.md"


def least_policy(compartment: str, network: str) -> list[str]:
    """The statements of docs/security.md for the mount targets of one compartment, without those on the tenancy."""
    statements = re.findall(r"^Allow dynamic-group .*$", _PAGE.read_text("utf-8"), re.MULTILINE)
    return [
        text.replace("<compartment of the network>", f"id {network}").replace("<compartment>", f"id {compartment}")
        for text in statements
        if not text.endswith(" in tenancy")
    ]


class PolicedRegion(Region):
    """A region with policy statements, each on the tenancy or on a compartment with those below it."""

    statements: tuple[Mapping[str, str | None], ...] = ()

    def grant(self, statements: Iterable[str]) -> None:
        """Allow what the statements allow, and nothing else."""
        matches = [(text, _STATEMENT.fullmatch(text)) for text in statements]
        assert all(match for _, match in matches), matches
        self.statements = tuple(match.groupdict() for _, match in matches if match)

    def admit(self, operation: ApiOperation, request: ApiRequest) -> None:
        super().admit(operation, request)
        if not any(self._allows(statement, operation, request) for statement in self.statements):
            raise refusal.not_authorized_or_not_found()

    def _allows(self, statement: Mapping[str, str | None], operation: ApiOperation, request: ApiRequest) -> bool:
        need = _NEEDS[operation.name]
        verb, namespace = statement["verb"] or "", statement["namespace"]
        return (
            statement["resource"] == need.resource
            and _VERBS.index(verb) >= _VERBS.index(need.verb)
            and statement["compartment"] in (None, *self._with_those_above(self._compartment_of(request)))
            and namespace in (None, _body_of(request).get("namespace"))
        )

    def _compartment_of(self, request: ApiRequest) -> str:
        """Return the OCID of the compartment in the call, or of that of the resource in its path."""
        subnets = {subnet.id: subnet.compartment_id for subnet in self.tenancy.subnets}
        networks = {
            ocid: subnets[target.subnet_id]
            for target in self.tenancy.mount_targets
            for ocid in (target.private_ip_id, target.ipv6_id)
        }
        query = {**_body_of(request), **dict(parse_qsl(request.target.partition("?")[2]))}
        named = query.get("compartmentId") or query.get("subnetId") or request.path.rsplit("/", 1)[-1]
        return (subnets | networks).get(named, named)

    def _with_those_above(self, compartment_id: str) -> list[str]:
        parents = {compartment.id: compartment.parent_id for compartment in self.tenancy.compartments}
        chain = [compartment_id]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        return chain


def _body_of(request: ApiRequest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(request.body or b"{}")
    return body
