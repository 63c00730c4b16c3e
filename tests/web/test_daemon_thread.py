import asyncio
import threading
from functools import partial

import pytest

from fss_exporter.web.daemon_thread import in_thread


def test_the_result_and_the_failure_come_back() -> None:
    async def run() -> int:
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 // 0)
        return await in_thread(lambda: 6 * 7)

    assert asyncio.run(run()) == 42


def test_work_is_done_elsewhere_by_threads_that_end_with_the_process() -> None:
    worker = asyncio.run(in_thread(threading.current_thread))

    assert worker is not threading.current_thread()
    assert worker.daemon


def test_work_is_done_where_the_system_allows_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> int:
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 // 0)
        return await in_thread(lambda: 6 * 7)

    monkeypatch.setattr(threading.Thread, "start", refuse)

    assert asyncio.run(run()) == 42


def test_work_that_hangs_keeps_no_other_from_starting() -> None:
    go = threading.Event()

    async def run() -> list[int]:
        hanging = [asyncio.create_task(in_thread(lambda: go.wait(120))) for _ in range(20)]
        await asyncio.sleep(0)
        done = [await in_thread(partial(int, number)) for number in range(50)]
        go.set()
        await asyncio.gather(*hanging)
        return done

    assert asyncio.run(run()) == list(range(50))


def test_a_result_whose_caller_has_left_is_dropped() -> None:
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert go.wait(120)

    async def leave() -> None:
        task = asyncio.create_task(in_thread(work))
        await asyncio.to_thread(begun.wait, 20)
        task.cancel()

    asyncio.run(leave())
    go.set()

    assert asyncio.run(in_thread(lambda: "still works")) == "still works"
