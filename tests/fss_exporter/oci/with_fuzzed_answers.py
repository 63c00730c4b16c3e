"""Damaged answers of OCI through poll, inventory and scrape: nothing raises, no counter goes back, and all is well after the damage."""

import json
import math
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from tests.fss_exporter.oci.world import MOUNT_TARGETS, World
from tests.region.in_memory import _HttpSession

from fss_exporter.web.exposition import negotiate, write

# Values of wrong types, sizes, texts and times.
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 1e308, 2**70, float("nan"), float("inf")),
    *("", "x", "\ud800", '\x00\n"\\', "a" * 5000, "ACTIVE", "DELETED", "2026-13-01T00:00:00Z"),
    *("0001-01-01T00:00:00-14:00", "1970-01-01T00:00:00Z", "9999-12-31T23:59:00+14:00"),
    *([], {}, [[]], {"\ud800": 1}),
)

DAMAGED_POLLS, POLLS = 16, 24


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each container of a JSON document with each of its keys or positions."""
    keys = list(document) if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in keys:
        yield document, key
        yield from places(document[key])


def damaged(content: bytes, chance: random.Random) -> bytes:
    """An answer with some values lost, repeated, moved or replaced, and perhaps without its end."""
    document = json.loads(content)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        every = list(places(document))
        if not every:
            break
        container, key = chance.choice(every)
        what = chance.random()
        if what < 0.15:
            del container[key]
        elif what < 0.3 and isinstance(container, list):
            container.insert(key, deepcopy(chance.choice(container)))
        elif what < 0.4 and isinstance(container, list):
            chance.shuffle(container)
        else:
            container[key] = deepcopy(chance.choice(ODD))
    answer = json.dumps(document).encode()
    return answer[: chance.randrange(len(answer) + 1)] if chance.random() < 0.03 else answer


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_damaged_answers_raise_nothing_take_no_counter_back_and_leave_nothing_behind(
    share: float, worlds: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, call = random.Random(share), _HttpSession.request

    def call_and_damage(*arguments: Any, **options: Any) -> Any:
        response = call(*arguments, **options)
        if chance.random() < share:
            response._content = damaged(response.content, chance)
        return response

    world = worlds(inventory_interval=120, services=["lustre", "block-volume"])
    counted: dict[str, float] = {}
    with monkeypatch.context() as patch:
        patch.setattr(_HttpSession, "request", call_and_damage)
        for _ in range(DAMAGED_POLLS):
            counted = poll_and_scrape(world, counted)
            world.pass_minutes(chance.choice((1, 1, 1, 2, 7)))
    for _ in range(POLLS - DAMAGED_POLLS):
        counted = poll_and_scrape(world, counted)
        world.pass_minutes()
    assert world.polls.success
    assert set(world.values("fss_mount_target_info", "mount_target")) == set(MOUNT_TARGETS)


def poll_and_scrape(world: World, before: dict[str, float]) -> dict[str, float]:
    """Poll once. Return the counters of mount targets, none of which is smaller than before."""
    world.poll()
    families = list(world.families().values())
    write(families, negotiate("application/openmetrics-text"), compress=False).decode()
    counted = {
        f"{sample.name}{sample.labels}": sample.value
        for family in families
        if family.type == "counter" and family.name.startswith("fss_mount_target_")
        for sample in family.samples
    }
    assert all(math.isfinite(value) and value >= before.get(series, 0.0) for series, value in counted.items())
    return before | counted
