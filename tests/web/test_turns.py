import asyncio

import pytest

from fss_exporter.web.turns import Busy, Turns


def test_no_more_than_may_are_at_work_and_the_rest_is_refused_at_once() -> None:
    at_work = most = 0

    async def work(turns: Turns) -> bool:
        nonlocal at_work, most
        try:
            async with turns.turn():
                at_work += 1
                most = max(most, at_work)
                await asyncio.sleep(0.01)
                at_work -= 1
        except Busy:
            return False
        return True

    async def run() -> list[bool]:
        turns = Turns(at_once=2, waiting=3)
        return await asyncio.gather(*(work(turns) for _ in range(10)))

    assert asyncio.run(run()) == [True] * 5 + [False] * 5
    assert most == 2


def test_a_turn_that_fails_or_is_given_up_is_free_again() -> None:
    async def hold(turns: Turns) -> None:
        async with turns.turn():
            await asyncio.sleep(60)

    async def run() -> None:
        turns = Turns(at_once=1, waiting=0)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                async with turns.turn():
                    _ = 1 // 0
            holding = asyncio.create_task(hold(turns))
            await asyncio.sleep(0)
            with pytest.raises(Busy):
                await hold(turns)
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)
        async with turns.turn():
            pass

    asyncio.run(run())
