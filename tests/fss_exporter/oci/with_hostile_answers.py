"""Answers that are slow without end, large without measure, or repeat themselves: each ends with an error, in time and in little memory."""

import socket
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oci.retry import retry
from tests.fss_exporter.oci.hostile_server import (
    Respond,
    cut_gzip,
    drip_body,
    drip_headers,
    gzip_bomb,
    hostile_server,
    large,
    new_page,
    same_page,
)
from tests.fss_exporter.oci.world import MOUNT_TARGETS, World, reach
from tests.processes import PROMPT_S
from tests.region import Account

from fss_exporter.errors import BrokenAnswer, FssError, Unreachable
from fss_exporter.oci.calls import CallBudget
from fss_exporter.oci.client import SdkClient, Session, bounded_http, read_credentials
from fss_exporter.oci.cloud_client import MetricRequest, Scope
from fss_exporter.settings import Oci

NO_HEADERS: Mapping[str, str] = {}
TENANCY = "ocid1.tenancy.oc1..t"
REQUEST = MetricRequest(Scope(TENANCY), "oci_filestorage", "MountTargetConnections[1m].sum()", 0, 60)


def client(url: str, account: Account, folder: Path, **seconds: float) -> SdkClient:
    services = ("monitoring", "file_storage", "identity")
    held = read_credentials(Oci(config_file=account.write_config(folder, "eu-frankfurt-1")))
    budget = CallBudget(1000, clock=time.monotonic, wait=lambda _: False)
    return SdkClient(Session(held, "eu-frankfurt-1", reach(dict.fromkeys(services, url), **seconds), budget=budget))


@pytest.mark.parametrize("respond", [drip_body, drip_headers])
def test_an_answer_of_a_byte_now_and_then_ends_at_the_deadline(
    respond: Respond, account: Account, tmp_path: Path
) -> None:
    with hostile_server(respond) as url:
        calls = client(url, account, tmp_path, read_timeout=1.0, answer_timeout=2.0)
        began = time.monotonic()
        with pytest.raises(Unreachable, match="no answer"):
            calls.summarize(REQUEST)
        assert time.monotonic() - began < PROMPT_S


def test_an_answer_through_a_proxy_ends_at_the_deadline(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with hostile_server(drip_body) as url:
        monkeypatch.setenv("http_proxy", url)
        calls = client("http://oci.invalid", account, tmp_path, read_timeout=1.0, answer_timeout=2.0)
        began = time.monotonic()
        with pytest.raises(Unreachable, match="no answer"):
            calls.summarize(REQUEST)
        assert time.monotonic() - began < PROMPT_S


@pytest.mark.parametrize("respond", [gzip_bomb, cut_gzip])
def test_an_answer_that_unpacks_without_measure_or_end_is_a_broken_answer(
    respond: Respond, account: Account, tmp_path: Path
) -> None:
    with hostile_server(respond) as url, pytest.raises(BrokenAnswer, match=r"larger than 16 MiB|no end"):
        client(url, account, tmp_path).summarize(REQUEST)


def test_the_errors_of_answers_that_unpack_without_measure_hold_none_of_the_bytes(
    account: Account, tmp_path: Path
) -> None:
    """An error lives on in a log and in a thread, and with eight calls at once the answers would add up."""
    with hostile_server(gzip_bomb) as url:
        calls = client(url, account, tmp_path)
        errors = []
        tracemalloc.start()
        try:
            for _ in range(4):
                with pytest.raises(BrokenAnswer, match="larger than 16 MiB") as broken:
                    calls.summarize(REQUEST)
                errors.append(broken.value)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert held < bounded_http.LARGEST_ANSWER_BYTES


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["", "http://[::1", "file:///etc/passwd"])
def test_a_redirect_to_another_host_is_a_broken_answer(
    status: int, location: str, account: Account, tmp_path: Path
) -> None:
    asked: list[object] = []
    with hostile_server(asked.append) as other:
        head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {location or other}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        with (
            hostile_server(lambda connection: connection.sendall(head.encode())) as url,
            pytest.raises(BrokenAnswer, match="TooManyRedirects"),
        ):
            client(url, account, tmp_path).resources("ListMountTargets", TENANCY, "AD-1")
    assert not asked


@pytest.mark.parametrize("status", ["502 Bad Gateway", "407 Proxy Authentication Required", "200 OK"])
def test_the_clock_of_a_proxy_that_answers_in_place_of_oci_says_nothing(
    status: str, account: Account, tmp_path: Path
) -> None:
    head = f"HTTP/1.1 {status}\r\nDate: Wed, 20 Nov 2030 10:00:00 GMT\r\nContent-Type: text/html\r\n"
    page = f"{head}Content-Length: 6\r\nConnection: close\r\n\r\n<html>"
    with hostile_server(lambda connection: connection.sendall(page.encode())) as url:
        calls = client(url, account, tmp_path)
        with pytest.raises(BrokenAnswer):
            calls.summarize(REQUEST)
    assert calls.clock_skew_seconds is None


def test_a_page_token_that_repeats_ends_the_listing(account: Account, tmp_path: Path) -> None:
    with hostile_server(same_page) as url, pytest.raises(BrokenAnswer, match="does not end"):
        client(url, account, tmp_path).resources("ListMountTargets", TENANCY, "AD-1")


def test_a_listing_with_a_new_token_and_no_new_rows_on_each_page_ends(account: Account, tmp_path: Path) -> None:
    with hostile_server(new_page) as url, pytest.raises(BrokenAnswer, match="does not end after 11 pages"):
        client(url, account, tmp_path).resources("ListMountTargets", TENANCY, "AD-1")


def test_large_answers_to_simultaneous_calls_are_read_one_at_a_time(account: Account, tmp_path: Path) -> None:
    with hostile_server(large) as url, bounded_http._one_large, pytest.raises(Unreachable, match="no answer"):
        client(url, account, tmp_path, read_timeout=1.0, answer_timeout=1.0).summarize(REQUEST)
    with hostile_server(large) as url:
        assert client(url, account, tmp_path).summarize(REQUEST) == []


@pytest.fixture
def worlds(worlds_over_http: Callable[..., World]) -> Callable[..., World]:
    """Makes exporters that ask over HTTP, because the answers here are hostile to HTTP clients and parsers."""
    return worlds_over_http


def test_a_poll_of_dripping_answers_fails_and_is_not_a_success(worlds: Callable[..., World]) -> None:
    world = worlds()
    world.poll()
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1
    with hostile_server(drip_body) as url:
        for session in world.account._sessions.values():
            session.settings = reach({"monitoring": url}, read_timeout=1.0, answer_timeout=1.0)
            session._clients.clear()
        world.pass_minutes()
        world.poll()
    assert not world.polls.success
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 0


def spoil(
    world: World, operation: str, change: Callable[[bytes], bytes], more_headers: Mapping[str, str] = NO_HEADERS
) -> None:
    """Let the region change each answer of one operation."""

    def spoilt(called: Any, _request: object, headers: dict[str, str], content: bytes) -> bytes:
        if called is None or called.name != operation:
            return content
        headers |= {**more_headers, "content-length": str(len(changed := change(content)))}
        return changed

    vars(world.region)["spoil"] = spoilt


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body.replace(b'"value":', b'"value":NaN,"was":'), id="values that are no numbers"),
        pytest.param(lambda body: body.replace(b'"timestamp":', b'"was":'), id="points without a time"),
        pytest.param(lambda body: body.replace(b'"dimensions":', b'"was":'), id="streams without dimensions"),
        pytest.param(lambda _: b"[null, 1, {}]", id="no streams"),
        pytest.param(lambda _: b"[" * 1_000_000, id="a million brackets"),
        pytest.param(lambda _: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="objects in objects"),
    ],
)
def test_a_poll_of_answers_without_a_readable_stream_fails(
    worlds: Callable[..., World], caplog: pytest.LogCaptureFixture, change: Callable[[bytes], bytes]
) -> None:
    world = worlds()
    world.poll()
    spoil(world, "SummarizeMetricsData", change)
    world.pass_minutes()
    world.poll()
    assert not world.polls.success
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 0
    assert "as documented" in caplog.text or "nested too deep" in caplog.text


def test_a_number_that_no_float_holds_costs_one_resource(worlds: Callable[..., World]) -> None:
    world = worlds()
    huge = b"9" * 400
    spoil(
        world,
        "ListMountTargets",
        lambda body: body.replace(b'"observedThroughput":20', b'"observedThroughput":' + huge),
    )
    world.poll()
    assert len(world.values("fss_mount_target_info", "mount_target")) == len(MOUNT_TARGETS) - 1


def test_a_page_token_of_a_listing_without_pages_is_ignored(worlds: Callable[..., World]) -> None:
    world = worlds()
    spoil(world, "ListAvailabilityDomains", lambda body: body, {"opc-next-page": "more"})
    world.poll()
    assert len(world.values("fss_mount_target_info", "mount_target")) == len(MOUNT_TARGETS)


class TestRotatedKey:
    """The API key is exchanged while the exporter runs."""

    def test_a_changed_key_file_is_read_without_a_reload(self, worlds: Callable[..., World]) -> None:
        world = worlds()
        world.poll()
        held = world.account.regions._held
        assert held
        config = next(path for path in held.files if path.name == "config")
        config.write_text(config.read_text() + "\n# changed\n")
        world.pass_minutes()
        world.poll()
        assert world.account.regions._held is not held
        assert world.polls.success
        assert (world.value("fss_mount_target_read_bytes_total", mount_target="mt-home") or 0) > 0, "counters go on"

    def test_a_key_file_that_breaks_leaves_the_old_key_in_use(
        self, worlds: Callable[..., World], caplog: pytest.LogCaptureFixture
    ) -> None:
        world = worlds()
        world.poll()
        held = world.account.regions._held
        assert held
        config = next(path for path in held.files if path.name == "config")
        text = config.read_text()
        config.write_text("[DEFAULT]\nuser = nobody\n")
        for _ in range(3):
            world.pass_minutes()
            world.poll()
            assert world.polls.success
        assert caplog.text.count("The credentials read before stay in use") == 1
        config.write_text(text)
        world.pass_minutes()
        world.poll()
        assert world.account.regions._held is not held

    def test_a_key_exchanged_in_oci_fails_polls_until_the_files_hold_the_new_key(
        self, worlds: Callable[..., World], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        world = worlds()
        world.poll()
        world.pass_minutes()
        world.poll()
        before = world.value("fss_mount_target_read_bytes_total", mount_target="mt-home") or 0

        world.region.account = replace(world.region.account, key=Account.generate(world.region.tenancy.id).key)
        world.pass_minutes()
        world.poll()
        assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 0
        assert "HTTP 401 NotAuthenticated" in caplog.text
        assert world.value("fss_mount_target_read_bytes_total", mount_target="mt-home") == before

        world.region.account.write_config(tmp_path, world.region.tenancy.region)
        world.pass_minutes()
        world.poll()
        assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1
        assert (world.value("fss_mount_target_read_bytes_total", mount_target="mt-home") or 0) > before

    def test_a_reload_reads_the_credentials_again(self, worlds: Callable[..., World]) -> None:
        world = worlds()
        world.poll()
        held = world.account.regions._held
        sign = world.account.renewal()
        assert sign is not None
        sign()
        world.poll()
        assert world.account.regions._held is not held


def test_failed_instance_principals_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import oci

    def refuse(**_: object) -> None:
        raise oci.exceptions.ServiceError(404, "x", {"a": "b" * 500}, "{'target_service': None, 'status': 404}")

    monkeypatch.setattr(oci.auth.signers, "InstancePrincipalsSecurityTokenSigner", refuse)
    with pytest.raises(FssError) as caught:
        read_credentials(Oci(auth="instance_principal"))
    text = str(caught.value)
    assert "Run this on an OCI compute instance" in text
    assert "{" not in text
    assert len(text) < 350


def test_the_same_failure_of_a_principal_has_the_same_text_in_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    import oci

    def refuse(**_: object) -> None:
        raise OSError(f"<HTTPConnection(host='169.254.169.254', port=80) at {hex(next(places))}>: timed out")

    places = iter((1, 2))
    monkeypatch.setattr(oci.auth.signers, "InstancePrincipalsSecurityTokenSigner", refuse)
    texts = []
    for _ in range(2):
        with pytest.raises(FssError) as caught:
            read_credentials(Oci(auth="instance_principal"))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_an_instance_principal_without_a_metadata_service_is_given_up_within_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(retry, "time", SimpleNamespace(time=time.time, sleep=slept.append))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        host, port = closed.getsockname()
    monkeypatch.setenv("OCI_METADATA_BASE_URL", f"http://{host}:{port}/opc/v2")
    with pytest.raises(FssError, match="refused"):
        read_credentials(Oci(auth="instance_principal"))
    assert 0 < sum(slept) < 15
