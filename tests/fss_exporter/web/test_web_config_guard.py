"""Users, headers and rate limit of a web configuration, for each request."""

import base64
import threading
from pathlib import Path

import bcrypt
import pytest
from tests.clock import Clock
from tests.fss_exporter.web.guarded import HASH, OPEN, RIGHT, application, ask, write
from tests.fss_exporter.web.serving import serving
from tests.processes import PATIENCE_S, wait_for

from fss_exporter.web.messages import Request, Response
from fss_exporter.web.web_config import RateLimit
from fss_exporter.web.web_config_reload import RateLimiter, WebConfigReload


def test_everything_but_health_asks_for_a_user(tmp_path: Path) -> None:
    web_config = WebConfigReload(write(tmp_path / "web.yml", f"basic_auth_users: {{me: {HASH}}}"))

    for path in ("/", "/metrics", "/-/reload", "/nowhere"):
        refusal = ask(web_config, path)
        assert refusal.status == 401
        assert dict(refusal.headers)["WWW-Authenticate"].startswith("Basic ")
        assert ask(web_config, path, RIGHT).status == 200
    assert ask(web_config, "/-/healthy").status == 200


def test_headers_go_on_every_response_and_win(tmp_path: Path) -> None:
    content = f"http_server_config: {{headers: {{X-Frame-Options: sameorigin}}}}\nbasic_auth_users: {{me: {HASH}}}"
    web_config = WebConfigReload(write(tmp_path / "web.yml", content))

    for path, headers in (("/metrics", RIGHT), ("/metrics", {}), ("/-/healthy", {})):
        values = [value for name, value in ask(web_config, path, headers).headers if name == "X-Frame-Options"]
        assert values == ["sameorigin"]


def test_a_rate_limit_lets_a_burst_through_and_then_one_for_each_interval(tmp_path: Path) -> None:
    clock = Clock(0.0)
    web_config = WebConfigReload(write(tmp_path / "web.yml", "rate_limit: {interval: 2s, burst: 3}"), clock)

    assert [ask(web_config, "/metrics").status for _ in range(5)] == [200, 200, 200, 429, 429]
    assert ask(web_config, "/-/healthy").status == 200
    clock.now = 2.0
    assert [ask(web_config, "/metrics").status for _ in range(2)] == [200, 429]
    clock.now = 1000.0
    assert [ask(web_config, "/metrics").status for _ in range(4)] == [200, 200, 200, 429]


def test_who_floods_uses_up_no_share_of_another_address(tmp_path: Path) -> None:
    web_config = WebConfigReload(write(tmp_path / "web.yml", "rate_limit: {interval: 1h, burst: 1}"), Clock(0.0))

    assert [ask(web_config, "/metrics", client="10.0.0.1").status for _ in range(3)] == [200, 429, 429]
    assert ask(web_config, "/metrics", client="10.0.0.2").status == 200


def test_who_guesses_uses_up_no_share_of_a_scraper_on_the_same_address(tmp_path: Path) -> None:
    content = f"rate_limit: {{interval: 1h, burst: 1}}\nbasic_auth_users: {{me: {HASH}}}"
    web_config = WebConfigReload(write(tmp_path / "web.yml", content), Clock(0.0))

    assert [ask(web_config, "/metrics").status for _ in range(3)] == [401] * 3
    assert [ask(web_config, "/metrics", RIGHT).status for _ in range(2)] == [200, 429]


def test_the_rate_limit_remembers_a_bounded_number_of_addresses() -> None:
    limiter, rate = RateLimiter(Clock(0.0)), RateLimit(interval=3600.0, burst=1)

    assert all(limiter.take(f"10.0.{number // 250}.{number % 250}", rate) for number in range(2000))

    assert not limiter.take("10.0.7.249", rate)
    assert len(limiter._buckets) == 1000


def test_a_flood_of_guesses_shuts_out_no_scraper_whose_password_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web_config = WebConfigReload(write(tmp_path / "web.yml", f"basic_auth_users: {{me: {HASH}}}"))
    guarded = web_config.guard(application, open_paths=OPEN)
    go, asked = threading.Event(), []

    def counted(request: Request) -> Response:
        asked.append(request)
        return guarded(request)

    with serving(counted) as served:
        assert served.get("/metrics", headers=RIGHT).status == 200
        monkeypatch.setattr(bcrypt, "checkpw", lambda *_: go.wait(PATIENCE_S) and False)
        guesses = [served.connect() for _ in range(served.server.limits.connections)]
        try:
            for number, guess in enumerate(guesses):
                secret = base64.b64encode(f"me:guess {number}".encode()).decode()
                guess.sendall(f"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {secret}\r\n\r\n".encode())
            wait_for(lambda: len(asked) == 1 + len(guesses), "all guesses to wait")

            assert served.get("/metrics", headers=RIGHT).status == 200
        finally:
            go.set()
            for guess in guesses:
                guess.close()
