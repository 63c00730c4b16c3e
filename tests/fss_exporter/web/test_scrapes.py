import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from tests.processes import NEVER_S, PATIENCE_S, wait_for

from fss_exporter.catalogue import family
from fss_exporter.web.collecting import Turns
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.one_at_a_time import MOST_WAITING, TooLong
from fss_exporter.web.scrapes import Scrapes


class Source:
    """Counts collections, and holds them up until it is let go."""

    def __init__(self, *, held_up: bool = False) -> None:
        self.collections = 0
        self.go = threading.Event()
        if not held_up:
            self.go.set()

    def collect(self) -> list[Metric]:
        self.collections += 1
        assert self.go.wait(PATIENCE_S)
        return [
            family("fss_nfs_ticks_total", (((), self.collections),)),
            family("fss_nfs_superblocks_unread", (((), 1.0),)),
        ]


def scrapes_of(collector: Collector, clock: Callable[[], float] = time.monotonic) -> Scrapes:
    """Answers of a registry with this collector."""
    registry = CollectorRegistry(support_collectors_without_names=True)
    registry.register(collector)
    return Scrapes(registry, Turns(), clock)


def scrape(query: str = "", **headers: str) -> Request:
    return Request("GET", "/metrics", query, {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(100) as threads:
        yield threads


def test_a_hundred_scrapers_at_once_are_served_from_one_collection_of_each_format(pool: ThreadPoolExecutor) -> None:
    source = Source(held_up=True)
    scrapes = scrapes_of(source, lambda: 0.0)
    asked = (
        [scrape()] * 50 + [scrape(accept_encoding="gzip")] * 30 + [scrape(accept="application/openmetrics-text")] * 20
    )

    responses = [pool.submit(scrapes, request) for request in asked]
    wait_for(lambda: source.collections, "the first collection")
    source.go.set()

    assert len({response.result().body for response in responses}) == 3
    assert source.collections == 3


def test_a_body_is_shared_for_a_moment_only() -> None:
    source, now = Source(), [0.0]
    scrapes = scrapes_of(source, lambda: now[0])

    def seen(at: float) -> int:
        now[0] = at
        scrapes(scrape())
        return source.collections

    assert [seen(0.0), seen(0.09), seen(0.11), seen(0.2), seen(0.22)] == [1, 1, 2, 2, 3]


def test_a_long_collection_is_shared_for_as_long_as_it_took() -> None:
    now = [0.0]
    collections: list[float] = []

    class Slow:
        def collect(self) -> list[Metric]:
            collections.append(now[0])
            now[0] += 3.0
            return []

    scrapes = scrapes_of(Slow(), lambda: now[0])
    for at in (0.0, 5.9, 6.1):
        now[0] = max(now[0], at)
        scrapes(scrape())

    assert collections == [0.0, 6.1]


def test_a_failing_collection_fails_its_scrape_and_not_the_next() -> None:
    failures: list[Exception] = [RuntimeError("once")]

    class Failing:
        def collect(self) -> list[Metric]:
            if failures:
                raise failures.pop()
            return []

    scrapes = scrapes_of(Failing())
    with pytest.raises(RuntimeError, match="once"):
        scrapes(scrape())
    assert scrapes(scrape()).status == 200


def test_name_filter_restricts_what_is_sent() -> None:
    body = scrapes_of(Source())(scrape("name[]=fss_nfs_ticks_total&name[]=fss_none")).body

    assert b"fss_nfs_ticks_total 1.0" in body
    assert b"fss_nfs_superblocks_unread" not in body


def test_the_response_names_the_headers_that_a_cache_must_compare() -> None:
    headers = dict(scrapes_of(Source())(scrape(accept_encoding="gzip")).headers)

    assert headers == {"Vary": "Accept, Accept-Encoding", "Content-Encoding": "gzip"}


def test_many_different_filters_take_turns_and_few_wait(pool: ThreadPoolExecutor) -> None:
    source = Source(held_up=True)
    scrapes = scrapes_of(source)
    refused: list[int] = []

    def filtered(number: int) -> Response | None:
        try:
            return scrapes(scrape(f"name[]=fss_{number}"))
        except TooLong:
            refused.append(number)
            return None

    answers = [pool.submit(filtered, number) for number in range(60)]
    wait_for(lambda: len(refused) == 59 - MOST_WAITING, "those beyond the bound to be refused")
    assert source.collections == 1
    source.go.set()

    assert sum(answer.result() is not None for answer in answers) == 1 + MOST_WAITING


def test_a_collection_that_hangs_costs_a_scrape_no_more_than_its_time(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(held_up=True)
    scrapes = scrapes_of(source)
    turn: Callable[..., object] = scrapes._one_at_a_time.turn
    first = pool.submit(scrapes, scrape())
    wait_for(lambda: source.collections, "the first collection")
    monkeypatch.setattr(scrapes._one_at_a_time, "turn", lambda: turn(0.01))

    with pytest.raises(TooLong):
        scrapes(scrape())

    source.go.set()
    assert first.result(NEVER_S).status == 200
