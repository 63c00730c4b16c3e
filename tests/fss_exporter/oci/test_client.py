"""The session against a region that misbehaves: every failure of the SDK becomes one of this project's, and nothing waits for long."""

import inspect
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import oci
import pytest
from circuitbreaker import CircuitBreakerMonitor
from oci.exceptions import ClientError
from tests.fss_exporter.oci.hostile_server import hostile_server
from tests.fss_exporter.oci.world import reach
from tests.processes import NEVER_S, PROMPT_S
from tests.region import Account, Region

from fss_exporter.background import EndLoop
from fss_exporter.errors import (
    BrokenAnswer,
    CloudError,
    CredentialsRefused,
    NotAuthorized,
    Throttled,
    TooMuchData,
    Unreachable,
    UsageError,
)
from fss_exporter.oci.calls import CallBudget, SelfMetrics
from fss_exporter.oci.client import SdkClient, Session, read_credentials
from fss_exporter.settings import Oci

SERVICES = ("monitoring", "file_storage", "identity", "virtual_network")
LIST = ("file_storage", "list_mount_targets")

Make = Callable[..., Session]


class Waits:
    """Remembers waits and does not wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.now = 0.0

    def __call__(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        self.now += seconds
        return False

    @property
    def pauses(self) -> list[float]:
        return [seconds for seconds in self.seconds if seconds > 0.2]


@pytest.fixture
def region_options() -> dict[str, Any]:
    return {"now": time.time}


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def self_metrics() -> SelfMetrics:
    return SelfMetrics()


@pytest.fixture
def make(region: Region, tmp_path: Path, waits: Waits, self_metrics: SelfMetrics) -> Make:
    def session(url: str = "", config: Path | None = None, **options: Any) -> Session:
        path = config or region.account.write_config(tmp_path, region.tenancy.region)
        where = reach(dict.fromkeys(SERVICES, url or region.url), **{"read_timeout": 60.0} | options)
        budget = CallBudget(9.9, clock=lambda: waits.now, wait=waits)
        return Session(
            read_credentials(Oci(config_file=path)),
            region.tenancy.region,
            where,
            budget=budget,
            record=self_metrics.request,
            jitter=lambda: 0.5,
        )

    return session


def listed(session: Session, region: Region) -> list[Any]:
    storage = next(compartment.id for compartment in region.tenancy.compartments if compartment.name == "storage")
    zone = region.tenancy.availability_domains[0]
    return [
        row for page in session.pages(*LIST, compartment_id=storage, availability_domain=zone, limit=1) for row in page
    ]


def outcomes(self_metrics: SelfMetrics) -> dict[str, float]:
    requests_by_outcome = self_metrics.sums().get("fss_oci_api_requests_total", {})
    return {outcome: number for (_, _, outcome), number in requests_by_outcome.items() if number}


def test_answers_are_plain_json_of_all_pages(make: Make, region: Region) -> None:
    rows = listed(make(), region)
    assert {type(row) for row in rows} == {dict}
    assert {row["displayName"] for row in rows} == {"mt-home", "mt-home-b", "mt-media"}


@pytest.mark.parametrize(
    ("fault", "error", "attempts"),
    [
        ("429", Throttled, 3),
        ("500", BrokenAnswer, 3),
        ("503", BrokenAnswer, 3),
        ("cut-off", BrokenAnswer, 3),
        ("not-json", BrokenAnswer, 3),
        ("deny", NotAuthorized, 1),
        ("clock-skew", CredentialsRefused, 1),
    ],
)
def test_each_fault_is_one_of_our_errors_after_a_bounded_number_of_attempts(
    make: Make, region: Region, self_metrics: SelfMetrics, *, fault: str, error: type[CloudError], attempts: int
) -> None:
    region.add_fault(fault)
    with pytest.raises(error) as caught:
        listed(make(), region)
    assert caught.value.operation == "ListMountTargets"
    assert caught.value.__cause__ is not None or fault == "not-json"
    assert "\n" not in str(caught.value)
    assert outcomes(self_metrics) == {error.outcome: attempts}


@pytest.mark.parametrize("fault", ["429", "500", "503", "cut-off", "not-json"])
def test_a_fault_that_passes_costs_a_short_pause(make: Make, region: Region, waits: Waits, fault: str) -> None:
    region.add_fault(f"{fault},times=2")
    assert len(listed(make(), region)) == 3
    assert len(waits.pauses) == 2
    assert all(pause <= 4 for pause in waits.pauses)


def test_a_throttled_call_waits_longer_than_a_broken_one(make: Make, region: Region, waits: Waits) -> None:
    region.add_fault("429,times=1")
    listed(make(), region)
    throttled = waits.pauses
    waits.seconds.clear()
    region.add_fault("500,times=1")
    listed(make(), region)
    assert throttled[0] > waits.pauses[0]


def test_a_crash_inside_a_call_is_not_counted_as_an_answer(
    make: Make, region: Region, self_metrics: SelfMetrics
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    session = make()
    session._client("file_storage").list_mount_targets = crash
    with pytest.raises(ZeroDivisionError):
        listed(session, region)
    assert outcomes(self_metrics) == {"error": 1}


def test_the_budget_is_asked_before_every_attempt(make: Make, region: Region, waits: Waits) -> None:
    region.add_fault("500,times=2")
    listed(make(), region)
    assert len(waits.seconds) == region.calls["ListMountTargets"] + 2


def test_a_slow_answer_is_given_up_in_time(make: Make, region: Region) -> None:
    region.add_fault(f"slow,seconds={NEVER_S:.0f}")
    began = time.monotonic()
    with pytest.raises(Unreachable, match="no answer"):
        listed(make(read_timeout=0.3), region)
    assert time.monotonic() - began < PROMPT_S


def test_a_closed_port_is_unreachable_and_the_error_names_the_address(make: Make) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with pytest.raises(
        Unreachable, match=f"ListAvailabilityDomains in eu-frankfurt-1: no answer from 127.0.0.1:{port}: "
    ):
        make(f"http://127.0.0.1:{port}").call("identity", "list_availability_domains", compartment_id="ocid1.tenancy.x")


def test_calls_go_through_the_proxy_of_the_environment_except_for_hosts_that_need_none(
    make: Make, region: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        port = gone.getsockname()[1]
        monkeypatch.setenv("http_proxy", f"http://user:secret@127.0.0.1:{port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(Unreachable, match=f"no answer from the proxy 127.0.0.1:{port}, which the environment names"):
        listed(make(), region)
    assert not region.calls
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert listed(make(), region)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 503 Unavailable\r\nContent-Length: 4\r\nConnection: close\r\n\r\noops"]
)
def test_an_error_by_way_of_a_proxy_names_the_proxy_too(
    make: Make, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    """A proxy that takes a call and is silent, or that answers itself, looks like the endpoint."""

    def respond(connection: socket.socket) -> None:
        if answer:
            connection.sendall(answer)
        else:
            connection.recv(1)

    with hostile_server(respond) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", "")
        calls = make("http://oci.example.com", read_timeout=0.5)
        named = f"by way of the proxy {proxy.removeprefix('http://')}, which the environment names: "
        with pytest.raises(CloudError, match=named):
            calls.call("identity", "list_availability_domains", compartment_id="ocid1.tenancy.x")


def test_the_ca_bundle_of_the_environment_is_the_clients(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    assert make()._client("identity").base_client.session.verify is True
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/etc/ssl/own.pem")
    assert make()._client("identity").base_client.session.verify == "/etc/ssl/own.pem"


def test_the_wrong_key_is_kept_apart_from_a_wrong_clock(make: Make, region: Region, tmp_path: Path) -> None:
    stranger = Account.generate(region.tenancy.id)
    (tmp_path / "wrong").mkdir()
    config = stranger.write_config(tmp_path / "wrong", region.tenancy.region)
    with pytest.raises(NotAuthorized, match="key, fingerprint, user or tenancy"):
        listed(make(config=config), region)
    region.add_fault("clock-skew,seconds=900")
    with pytest.raises(NotAuthorized, match=r"clock is .*OCI's: set it"):
        listed(make(), region)


def test_a_refusal_names_the_statement_that_may_be_missing(make: Make, region: Region) -> None:
    region.add_fault("deny")
    with pytest.raises(NotAuthorized, match=r"Allow group <group> to inspect mount-targets in compartment id ocid1\."):
        listed(make(), region)


def test_a_region_of_a_principal_that_is_no_host_is_named(account: Account, tmp_path: Path) -> None:
    """The region of a principal is the text of another service. Settings and configuration file refuse such a region."""
    held = read_credentials(Oci(config_file=account.write_config(tmp_path, "eu-frankfurt-1")))
    session = Session(held, "eu frankfurt", reach(), budget=CallBudget(1000, clock=lambda: 0.0, wait=lambda _: False))
    with pytest.raises(CloudError, match=r"in eu frankfurt: check the region and oci\.endpoint"):
        SdkClient(session).availability_domains(session.tenancy_id)


def test_an_empty_ocid_of_an_earlier_answer_is_an_error_of_the_call(make: Make) -> None:
    with pytest.raises(BrokenAnswer, match="GetSubnet in eu-frankfurt-1: an earlier answer has no usable identity"):
        make().call("virtual_network", "get_subnet", "")


def test_a_client_that_the_sdk_does_not_make_is_an_error_of_the_call(
    make: Make, region: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ClientError("no key")

    monkeypatch.setattr("oci.file_storage.FileStorageClient", refuse)
    with pytest.raises(CloudError, match="oci: cannot open file_storage in eu-frankfurt-1: no key"):
        listed(make(), region)


def test_too_many_streams_is_an_error_of_its_own(regions: Callable[..., Region], make: Make) -> None:
    from tests.region import RegionLimits

    small_answers = regions(now=time.time, limits=RegionLimits(streams=2))
    with pytest.raises(TooMuchData):
        make(small_answers.url).call(
            "monitoring",
            "summarize_metrics_data",
            body={"namespace": "oci_filestorage", "query": "MountTargetConnections[1m].sum()"},
            compartment_id=small_answers.tenancy.id,
            compartment_id_in_subtree=True,
        )


def test_one_clients_open_circuit_leaves_the_others_alone(
    make: Make, region: Region, self_metrics: SelfMetrics
) -> None:
    region.add_fault("429:List*")
    session = make()
    for _ in range(5):
        with pytest.raises(CloudError):
            listed(session, region)
    before = region.calls["ListMountTargets"]
    with pytest.raises(Unreachable, match=r"not asked, .* HTTP 429$") as held_back:
        listed(session, region)
    assert held_back.value.reason == "429"
    assert region.calls["ListMountTargets"] == before, "nothing left"
    assert outcomes(self_metrics) == {"throttled": 10}, "what did not leave is not counted"
    subnet = region.tenancy.subnets[0].id
    assert session.call("virtual_network", "get_subnet", subnet).data["id"] == subnet


def test_new_credentials_again_and_again_leave_no_more_circuit_breakers(
    make: Make, region: Region, tmp_path: Path
) -> None:
    session = make()
    listed(session, region)
    before = len(CircuitBreakerMonitor.circuit_breakers)
    for _ in range(3):
        session.use_credentials(read_credentials(Oci(config_file=tmp_path / "config")))
        listed(session, region)
    assert len(CircuitBreakerMonitor.circuit_breakers) == before


def test_a_stop_cuts_the_wait_for_the_budget_off(region: Region, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    path = region.account.write_config(tmp_path, region.tenancy.region)
    budget = CallBudget(1, clock=time.monotonic, wait=stop.wait)
    session = Session(
        read_credentials(Oci(config_file=path)),
        "eu-frankfurt-1",
        reach(dict.fromkeys(SERVICES, region.url)),
        budget=budget,
    )
    with pytest.raises(EndLoop):
        listed(session, region)
    assert region.calls["ListMountTargets"] == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "DEFAULT"),
        ("[OTHER]\nuser=x\n", "DEFAULT"),
        ("[DEFAULT]\nuser=ocid1.user.oc1..x\n", "missing"),
        (
            "[DEFAULT]\nkey_file=/nowhere\nsecurity_token_file=/nowhere\nregion=r\ntenancy=ocid1.tenancy.oc1..x\n",
            "nowhere",
        ),
        ("[DEFAULT]\nsecurity_token_file=/dev/null\nregion=r\ntenancy=ocid1.tenancy.oc1..x\n", "key_file is missing"),
        ("[DEFAULT]\nregion=eu frankfurt\n", "region 'eu frankfurt' is not a region. Write it like eu-frankfurt-1"),
        ("secret\n", "line 1"),
        ("[DEFAULT]\nuser=secret\nuser=secret\n", "line 3"),
        ("[DEFAULT]\nuser=x\nsecret\n", "line 3"),
    ],
    ids=[
        *("an empty file", "no such profile", "half a profile", "a token that is not there", "a token without a key"),
        *("a region with a space", "no section", "an option that is there twice", "a line without a value"),
    ],
)
def test_a_configuration_file_that_cannot_be_used_names_itself(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(UsageError, match=says) as caught:
        read_credentials(Oci(config_file=path))
    assert str(path) in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_configuration_file_that_is_no_text_says_so_without_words_of_python(tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(b"[DEFAULT]\nuser=\xff\n")
    with pytest.raises(UsageError, match=r"profile DEFAULT: not UTF-8 text \(byte 15\)$"):
        read_credentials(Oci(config_file=tmp_path / "config"))


def test_a_missing_configuration_file_and_a_key_that_is_none_are_reported(region: Region, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"absent.* no such file\. On an OCI instance .*--oci\.auth=instance_principal"
    ):
        read_credentials(Oci(config_file=tmp_path / "absent"))
    path = region.account.write_config(tmp_path, "eu-frankfurt-1")
    (tmp_path / "key.pem").write_text("rubbish")
    with pytest.raises(UsageError, match="profile DEFAULT"):
        read_credentials(Oci(config_file=path))


def test_no_secret_is_in_any_message(region: Region, tmp_path: Path) -> None:
    path = region.account.write_config(tmp_path, "eu-frankfurt-1")
    secret = (tmp_path / "key.pem").read_text().splitlines()[3]
    (tmp_path / "key.pem").write_text((tmp_path / "key.pem").read_text()[:200])
    with pytest.raises(UsageError) as caught:
        read_credentials(Oci(config_file=path))
    assert secret not in str(caught.value)
    assert "BEGIN" not in str(caught.value)


def test_every_error_of_the_sdk_for_clients_is_a_usage_error() -> None:
    """What reading credentials may raise is one family; were there another, it would pass unmapped."""
    families = {
        error
        for _, error in inspect.getmembers(oci.exceptions, inspect.isclass)
        if issubclass(error, Exception) and "oci" in error.__module__
    }
    about_configuration = {error for error in families if "Config" in error.__name__ or "Key" in error.__name__}
    assert about_configuration
    assert all(issubclass(error, ClientError) for error in about_configuration)
