import asyncio
import threading
from collections.abc import Iterator

import pytest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from tests.processes import NEVER_S

from fss_exporter.web.collecting import one_at_a_time
from fss_exporter.web.costly import MOST_WAITING, TooManyWait
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.scrapes import _MOMENT_SECONDS, Scrapes


class Registry:
    """Counts collections, and holds them up until it is let go."""

    def __init__(self, *, held_up: bool = False) -> None:
        self.collections = 0
        self.at_work = 0
        self.most_at_work = 0
        self.go = threading.Event()
        if not held_up:
            self.go.set()

    def collect(self) -> Iterator[Metric]:
        self.collections += 1
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        assert self.go.wait(120)
        yield GaugeMetricFamily("fss_collections", "Collections.", value=self.collections)
        yield CounterMetricFamily("fss_other", "Another.", value=1)
        self.at_work -= 1


def scrape(query: str = "", **headers: str) -> Request:
    return Request("GET", "/metrics", query, {name.replace("_", "-"): value for name, value in headers.items()}, "::1")


async def started(registry: Registry) -> None:
    while not registry.collections:
        await asyncio.sleep(0.001)


def test_a_hundred_scrapers_at_once_are_served_from_one_collection() -> None:
    registry = Registry(held_up=True)

    async def run() -> list[Response]:
        scrapes = Scrapes(one_at_a_time(registry, threading.Lock()))
        waiting = [asyncio.create_task(scrapes(scrape())) for _ in range(50)]
        waiting += [asyncio.create_task(scrapes(scrape(accept_encoding="gzip"))) for _ in range(30)]
        waiting += [
            asyncio.create_task(scrapes(scrape(accept="application/openmetrics-text;version=1.0.0"))) for _ in range(20)
        ]
        await started(registry)
        registry.go.set()
        return await asyncio.gather(*waiting)

    responses = asyncio.run(run())

    assert registry.collections == 1
    assert len({response.body for response in responses}) == 3
    assert {response.status for response in responses} == {200}


def test_a_collection_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fss_exporter.web.scrapes._REUSE_SECONDS", NEVER_S)

    async def run() -> list[bytes]:
        scrapes = Scrapes(one_at_a_time(Registry(), threading.Lock()))
        return [(await scrapes(scrape())).body for _ in range(10)]

    assert all(b"fss_collections 1.0" in body for body in asyncio.run(run()))


def test_a_collection_is_used_for_a_moment_only() -> None:
    async def run() -> bytes:
        scrapes = Scrapes(one_at_a_time(Registry(), threading.Lock()))
        await scrapes(scrape())
        while scrapes._results:
            await asyncio.sleep(0.01)
        return (await scrapes(scrape())).body

    assert b"fss_collections 2.0" in asyncio.run(run())


def test_a_scraper_that_goes_away_does_not_take_the_others_result_with_it() -> None:
    registry = Registry(held_up=True)

    async def run() -> Response:
        scrapes = Scrapes(one_at_a_time(registry, threading.Lock()))
        leaving, staying = (asyncio.create_task(scrapes(scrape())) for _ in range(2))
        await started(registry)
        leaving.cancel()
        registry.go.set()
        return await staying

    assert asyncio.run(run()).status == 200
    assert registry.collections == 1


def test_collectors_are_never_called_by_two_threads_at_once() -> None:
    registry = Registry()

    async def run() -> None:
        scrapes = Scrapes(one_at_a_time(registry, threading.Lock()))

        async def several(query: str) -> None:
            for _ in range(10):
                await scrapes(scrape(query))

        await asyncio.gather(*(several(f"name[]=fss_{number}") for number in range(10)))

    asyncio.run(run())

    assert registry.most_at_work == 1


def test_a_failing_collection_fails_its_scrape_and_not_the_next() -> None:
    class Flaky(Registry):
        def collect(self) -> Iterator[Metric]:
            if not self.collections:
                self.collections = 1
                raise RuntimeError("once")
            yield from super().collect()

    async def run() -> Response:
        scrapes = Scrapes(one_at_a_time(Flaky(), threading.Lock()))
        with pytest.raises(RuntimeError, match="once"):
            await scrapes(scrape())
        return await scrapes(scrape())

    assert asyncio.run(run()).status == 200


def test_name_filter_restricts_what_is_sent() -> None:
    async def run() -> bytes:
        return (
            await Scrapes(one_at_a_time(Registry(), threading.Lock()))(scrape("name[]=fss_other_total&name[]=fss_none"))
        ).body

    body = asyncio.run(run())

    assert b"fss_other_total 1.0" in body
    assert b"fss_collections" not in body


def test_the_response_names_the_headers_that_a_cache_must_compare() -> None:
    async def run() -> Response:
        return await Scrapes(one_at_a_time(Registry(), threading.Lock()))(scrape(accept_encoding="gzip"))

    headers = dict(asyncio.run(run()).headers)

    assert headers == {"Vary": "Accept, Accept-Encoding", "Content-Encoding": "gzip"}


def test_many_different_filters_take_turns_and_hold_up_no_plain_scrape() -> None:
    registry = Registry(held_up=True)

    async def run() -> tuple[Response, list[Response | BaseException]]:
        scrapes = Scrapes(one_at_a_time(registry, threading.Lock()))
        odd = [asyncio.create_task(scrapes(scrape(f"name[]=fss_{number}"))) for number in range(100)]
        usual = asyncio.create_task(scrapes(scrape()))
        await started(registry)
        registry.go.set()
        return await usual, await asyncio.gather(*odd, return_exceptions=True)

    usual, odd = asyncio.run(run())

    assert usual.status == 200
    assert [type(answer) for answer in odd] == [Response] * (1 + MOST_WAITING) + [TooManyWait] * (99 - MOST_WAITING)


def test_only_a_collection_that_takes_longer_than_a_moment_leaves_the_thread_that_answers() -> None:
    """The first one may take any time, and so may the one after a long one."""
    threads: list[threading.Thread] = []
    readings = iter((0, 0, 1, 1, 2, 2 + 2 * _MOMENT_SECONDS, 3, 3))

    class Noting:
        def collect(self) -> Iterator[Metric]:
            threads.append(threading.current_thread())
            yield GaugeMetricFamily("fss_one", "One.", value=1)

    async def run() -> None:
        scrapes = Scrapes(one_at_a_time(Noting(), threading.Lock()), lambda: next(readings))
        for _ in range(4):
            await scrapes(scrape())
            scrapes._results.clear()  # the moment is over

    asyncio.run(run())

    here = threading.current_thread()
    assert [thread is here for thread in threads] == [False, True, True, False]
