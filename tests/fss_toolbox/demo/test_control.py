"""The knobs of a running region under /control."""

import http.client
import json
from typing import Any

import pytest
from tests.fss_toolbox.demo.sdk import MINUTE, Clients, refused
from tests.region import Region

JSON = {"content-type": "application/json"}


def ask(region: Region, method: str, path: str, body: object = None, headers: dict[str, str] = JSON) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(region.url.removeprefix("http://"), timeout=120)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_faults_are_set_shown_and_cleared_while_it_runs(region: Region, sdk: Clients) -> None:
    status, shown = ask(region, "POST", "/control/faults", {"fault": "503:SummarizeMetricsData,times=5"})
    assert (status, shown["faults"]) == (200, ["503:SummarizeMetricsData,times=5"])
    with refused(503, "ServiceUnavailable"):
        sdk.summarize("MountTargetIOPS[1m].mean()")
    assert ask(region, "GET", "/control")[1]["faults"] == ["503:SummarizeMetricsData,times=4"]
    assert ask(region, "DELETE", "/control/faults")[1]["faults"] == []
    assert sdk.summarize("MountTargetIOPS[1m].mean()")


def test_a_load_is_set_while_it_runs(region: Region, sdk: Clients) -> None:
    before = sdk.truth("MountTargetIOPS", "mt-home", MINUTE)
    assert ask(region, "POST", "/control/loads", {"mountTarget": "mt-home", "factor": 0.5})[0] == 200
    assert sdk.truth("MountTargetIOPS", "mt-home", MINUTE) == pytest.approx(before / 2, abs=1)


def test_calls_are_counted_by_operation(region: Region, sdk: Clients) -> None:
    sdk.summarize("MountTargetIOPS[1m].mean()")
    assert ask(region, "GET", "/control")[1]["calls"] == {"SummarizeMetricsData": 1}


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("/control/faults", {"fault": "418"}, "no kind"),
        ("/control/faults", {"fault": "delete,resource=mt-nowhere"}, "mt-nowhere"),
        ("/control/faults", {"fault": "delete,resource=storage"}, "called 'storage'"),
        ("/control/faults", {}, "fault"),
        ("/control/loads", {"mountTarget": "mt-nowhere", "factor": 1.0}, "mt-nowhere"),
        ("/control/loads", {"mountTarget": "mt-home", "factor": -1.0}, "between"),
        (
            "/control/requests",
            {"mountTarget": "mt-idle", "requests": [{"operation": "READ", "count": 10**400}]},
            "count",
        ),
        (
            "/control/requests",
            {"mountTarget": "mt-idle", "requests": [{"operation": "READ", "size": 10**400, "count": 1}]},
            "size",
        ),
        ("/control/requests", {"mountTarget": "homes", "requests": []}, "no mount target with an export"),
    ],
)
def test_a_mistake_is_answered_with_400_and_what_is_wrong(path: str, body: object, word: str, region: Region) -> None:
    status, answer = ask(region, "POST", path, body)
    assert status == 400
    assert word in answer["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        JSON | {"origin": "http://evil.example"},
        JSON | {"host": "evil.example"},
    ],
    ids=["a form's type", "from a page", "under another name"],
)
def test_what_a_web_page_could_send_is_refused(headers: dict[str, str], region: Region) -> None:
    assert ask(region, "POST", "/control/faults", {"fault": "500"}, headers)[0] in (400, 401)
    assert region.faults() == []


def test_paths_beside_it_are_not_found(region: Region) -> None:
    assert ask(region, "GET", "/control/nothing")[0] == 404
    assert ask(region, "GET", "/controls")[0] == 404
