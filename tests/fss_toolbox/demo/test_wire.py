"""Routes, parameters, error bodies, request ids, pages. Documented: "API Errors", "REST APIs", "List Pagination"."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import oci
import pytest
from hypothesis import given, settings, strategies as st
from tests.fss_toolbox.demo.sdk import Clients, clients, refused
from tests.region import Region, RegionLimits, large
from tests.region.signed import Signed

from fss_toolbox.demo.region.refusal import Refusal
from fss_toolbox.demo.region.wire import paged


def refusal(region: Region, method: str, path: str, query: Mapping[str, str] | None = None, body: object = None) -> Any:
    """Status, code and message of what a signed request is answered with."""
    target = path + (f"?{urlencode(query)}" if query else "")
    text = None if body is None else body if isinstance(body, str) else json.dumps(body)
    status, answer, headers = Signed(region, region.account, method, target, text).send()
    assert headers["opc-request-id"]
    return status, answer["code"], answer["message"]


ZONED = ("mountTargets", "fileSystems", "exportSets", "replications", "outboundConnectors")


@pytest.mark.parametrize("kind", ZONED)
@pytest.mark.parametrize("missing", ["compartmentId", "availabilityDomain"])
def test_lists_of_file_storage_need_compartment_and_availability_domain(
    kind: str, missing: str, region: Region
) -> None:
    tenancy = region.tenancy
    query = {"compartmentId": tenancy.compartments[1].id, "availabilityDomain": tenancy.availability_domains[0]}
    del query[missing]
    status, code, message = refusal(region, "GET", f"/20171215/{kind}", query)
    assert (status, code) == (400, "MissingParameter")
    assert missing in message


WRONG_PARAMETERS = {
    "an unknown one": {"colour": "red"},
    "a limit of nothing": {"limit": "0"},
    "a limit above 4096": {"limit": "4097"},
    "a limit that is no number": {"limit": "many"},
    "an unknown page": {"page": "seven"},
    "a page from nowhere": {"page": "ZnJvbTo5OTk5"},
    "a state there is not": {"lifecycleState": "TIRED"},
    "an order there is not": {"sortOrder": "UP"},
    "an availability domain there is not": {"availabilityDomain": "qIZq:US-ASHBURN-1-AD-1"},
}


@pytest.mark.parametrize("what", WRONG_PARAMETERS)
def test_a_query_is_refused_with(what: str, region: Region) -> None:
    tenancy = region.tenancy
    query = {"compartmentId": tenancy.compartments[1].id, "availabilityDomain": tenancy.availability_domains[0]}
    status, code, message = refusal(region, "GET", "/20171215/mountTargets", query | WRONG_PARAMETERS[what])
    assert (status, code) == (400, "InvalidParameter")
    assert next(iter(WRONG_PARAMETERS[what])) in message


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/20180401",
        "/20180401/nothing",
        "/20180402/alarms",
        "/20171215/mountTargets/",
        "/20171215/mountTargets/a/b",
    ],
)
def test_a_path_without_an_operation_is_not_found(path: str, region: Region) -> None:
    assert refusal(region, "GET", path)[:2] == (404, "NotFound")


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/20171215/mountTargets"), ("PUT", "/20180401/alarms")])
def test_a_method_a_path_does_not_have_is_not_allowed(method: str, path: str, region: Region) -> None:
    assert refusal(region, method, path, body={} if method == "PUT" else None)[:2] == (405, "MethodNotAllowed")


def test_errors_are_json_with_code_and_message_even_for_strangers(region: Region) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{region.url}/nothing/here", timeout=120)
    with caught.value as answer:
        body = json.loads(answer.read())
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["opc-request-id"]
    assert set(body) == {"code", "message"}


@pytest.mark.parametrize("compartment", ["ocid1.compartment.oc1..nowhere", ""])
@pytest.mark.parametrize("kind", [*ZONED, "exports"])
def test_an_unknown_compartment_is_not_authorized_or_not_found(kind: str, compartment: str, region: Region) -> None:
    query = {"compartmentId": compartment}
    if kind != "exports":
        query["availabilityDomain"] = region.tenancy.availability_domains[0]
    status, code = (404, "NotAuthorizedOrNotFound") if compartment or kind != "exports" else (400, "MissingParameter")
    assert refusal(region, "GET", f"/20171215/{kind}", query)[:2] == (status, code)


SUMMARIZE = "/20180401/metrics/actions/summarizeMetricsData"
QUERY = {"namespace": "oci_filestorage", "query": "MountTargetIOPS[1m].mean()"}
WRONG_BODIES: dict[str, tuple[object, str, str]] = {
    "that is a list": ([], "InvalidParameter", "body"),
    "without a namespace": ({"query": "A[1m].mean()"}, "MissingParameter", "namespace"),
    "without a query": ({"namespace": "oci_filestorage"}, "MissingParameter", "query"),
    "with a field the API does not have": (QUERY | {"queryText": "x"}, "InvalidParameter", "queryText"),
    "with a number as query": (QUERY | {"query": 7}, "InvalidParameter", "query"),
    "with a time that is none": (QUERY | {"startTime": "noon"}, "InvalidParameter", "startTime"),
    "with a query that does not parse": (QUERY | {"query": "A[1m]"}, "InvalidParameter", "column"),
    "with a resolution there is not": (QUERY | {"resolution": "90m"}, "InvalidParameter", "resolution"),
    "with a resolution longer than the interval": (QUERY | {"resolution": "5m"}, "InvalidParameter", "resolution"),
    "that ends before it starts": (
        QUERY | {"startTime": "2027-01-15T08:00:00Z", "endTime": "2027-01-15T08:00:00Z"},
        "InvalidParameter",
        "startTime",
    ),
}


@pytest.mark.parametrize("what", WRONG_BODIES)
def test_summarize_refuses_a_body(what: str, region: Region) -> None:
    body, code, word = WRONG_BODIES[what]
    status, answered, message = refusal(region, "POST", SUMMARIZE, {"compartmentId": region.tenancy.id}, body)
    assert (status, answered) == (400, code)
    assert word in message


def test_a_body_that_is_not_json_cannot_be_parsed(region: Region) -> None:
    scope = {"compartmentId": region.tenancy.id}
    assert refusal(region, "POST", SUMMARIZE, scope, "not json")[:2] == (400, "CannotParseRequest")


def test_every_answer_bears_a_request_id_of_its_own_that_begins_with_the_client_s(sdk: Clients) -> None:
    first, second = (
        sdk.monitoring.list_metrics(sdk.region.tenancy.id, {"groupBy": ["name"]}, opc_request_id="mine")
        for _ in range(2)
    )
    assert first.request_id.startswith("mine/")
    assert first.request_id != second.request_id


def test_a_mistake_of_the_region_itself_is_a_500_and_a_log_line(
    regions: Callable[..., Region], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    region = regions(now=time.time)
    monkeypatch.setattr(region.store, "selected", broken)
    with refused(500, "InternalServerError"):
        clients(region).summarize("MountTargetIOPS[1m].mean()")
    assert "summarizeMetricsData failed" in caplog.text


def test_many_callers_at_once_all_get_their_answer_and_every_call_is_counted(sdk: Clients) -> None:
    home = sdk.region.tenancy.named("mt-home")
    client = sdk.file_storage
    with ThreadPoolExecutor(16) as pool:
        names = list(pool.map(lambda _: client.get_mount_target(home).data.display_name, range(200)))
    assert names == ["mt-home"] * 200
    assert sdk.region.calls["GetMountTarget"] == 200


# -- pages


@given(count=st.integers(0, 50), limit=st.none() | st.integers(1, 60), largest=st.integers(1, 20))
@settings(max_examples=settings().max_examples // 2)
def test_pages_of_any_size_give_every_item_once_and_in_order(count: int, limit: int | None, largest: int) -> None:
    items, seen, token = list(range(count)), [], None
    while True:
        answer = paged(items, SimpleNamespace(limit=limit, page=token), largest)
        assert isinstance(answer.body, list)
        assert len(answer.body) <= min(limit or largest, largest)
        seen += answer.body
        token = answer.headers.get("opc-next-page")
        if token is None:
            break
    assert seen == items


@given(st.text(max_size=20).filter(lambda token: not token.isdecimal()))
def test_a_page_token_that_was_not_given_out_is_refused(token: str) -> None:
    with pytest.raises(Refusal) as no:
        paged([1, 2, 3], SimpleNamespace(limit=None, page=token), 2)
    assert (no.value.status, no.value.code) == (400, "InvalidParameter")


def test_the_sdk_s_own_pagination_walks_through_a_list(regions: Callable[..., Region]) -> None:
    region = regions(large(25, 1), limits=RegionLimits(page=10))
    sdk, tenancy = clients(region), region.tenancy
    listed = oci.pagination.list_call_get_all_results(
        sdk.file_storage.list_mount_targets, tenancy.compartments[0].id, tenancy.availability_domains[0], limit=7
    ).data
    assert sorted(row.id for row in listed) == sorted(mount_target.id for mount_target in tenancy.mount_targets)
    assert region.calls["ListMountTargets"] == 4


def test_the_last_page_names_no_next_one(sdk: Clients) -> None:
    assert sdk.identity.list_compartments(sdk.region.tenancy.id).next_page is None
