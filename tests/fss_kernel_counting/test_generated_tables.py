"""The whole reader over generated looks: whatever the text goes through, a count is the truth and an estimate has it between
its bounds."""

import re
from collections.abc import Callable
from random import Random

from hypothesis import given, settings, strategies as st
from tests.fss_kernel_counting.host import EVENTS, KIB, SIZES, Host, Mount, exact, ready
from tests.fss_kernel_counting.kernel import ROOT, Kernel, Trigger

from fss_exporter.model.operations import READ, WRITE
from fss_kernel_counting.tracefs import OF_SIZES

operations = st.sampled_from((READ, WRITE))
sizes = st.one_of(st.sampled_from(SIZES), st.integers(0, 1024 * KIB))
calls = st.lists(st.tuples(st.integers(40, 42), operations, sizes), max_size=8)
randoms = st.randoms(use_true_random=False)


def disordered(random: Random) -> Callable[[str], str]:
    """Rows in any order, padded at will: the kernel sorts them by a count that changes, and pads by version."""

    def printed(text: str) -> str:
        lines = text.split("\n")
        places = [place for place, line in enumerate(lines) if line.startswith("{")]
        blocks: list[list[int]] = []
        for place in places:
            if blocks and place == blocks[-1][-1] + 1:
                blocks[-1].append(place)
            else:
                blocks.append([place])
        for block in blocks:
            texts = [re.sub(r": +", lambda _: ":" + " " * random.randint(1, 20), lines[place]) for place in block]
            random.shuffle(texts)
            lines[block[0] : block[-1] + 1] = texts
        return "\n".join(lines)

    return printed


# The tables with the rows they had at the last good look: of one that was never seen nobody can tell that it is gone.
Rows = list[tuple[Trigger, list[tuple[str, ...]]]]


def rows(host: Host) -> Rows:
    tables = (trigger for event in EVENTS.values() for trigger in host.kernel.triggers(event))
    return [(trigger, sorted(trigger.rows)) for trigger in tables]


def cut(host: Host, random: Random, _: Rows) -> None:
    """The text ends somewhere, for one look."""
    share, left, whole = random.random(), [1], host.kernel.printed

    def printed(text: str) -> str:
        left[0] -= 1
        return text[: int(share * len(text))] if left[0] >= 0 else whole(text)

    host.kernel.printed = printed


def lose_a_row(_: Host, random: Random, seen: Rows) -> None:
    trigger, keys = random.choice(seen)
    if keys:
        del trigger.rows[random.choice(keys)]


def begin_anew(_: Host, random: Random, seen: Rows) -> None:
    trigger, keys = random.choice(seen)
    if keys:
        trigger.rows.clear()


def drop(_: Host, random: Random, seen: Rows) -> None:
    random.choice(seen)[0].dropped += random.randint(1, 1000)


def pause(_: Host, random: Random, seen: Rows) -> None:
    random.choice(seen)[0].paused = True


def truncate(host: Host, random: Random, _: Rows) -> None:
    event = random.choice(sorted(EVENTS.values()))
    host.kernel.write(ROOT / "instances" / OF_SIZES / "events" / event / "trigger", "")


Fault = Callable[[Host, Random, Rows], None]
faults = st.sampled_from((None, None, cut, lose_a_row, begin_anew, drop, pause, truncate))


@given(st.lists(st.tuples(calls, faults), min_size=1, max_size=6), st.booleans(), randoms)
@settings(max_examples=settings().max_examples // 2)
def test_a_fault_costs_its_tick_the_exactness_and_no_other_tick_anything(
    ticks: list[tuple[list[tuple[int, str, int]], Fault | None]],
    buckets: bool,
    random: Random,
) -> None:
    host = ready(Host(Mount(40), Mount(41), Mount(42, "10.0.0.4"), kernel=Kernel(buckets=buckets)))
    width, seen = {READ: 0.0, WRITE: 0.0}, rows(host)
    for done, fault in ticks:
        host.kernel.printed = disordered(random)
        for number, operation, size in done:
            host.call(number, operation, size)
        if fault is not None:
            fault(host, random, seen)
        counted = exact(host.tick())
        seen = rows(host)
        if fault is None:
            assert counted == {"0:40", "0:41", "0:42"}
        for operation in (READ, WRITE):
            lower, point, upper = host.cost(operation)
            assert lower - 0.001 <= host.truth[operation] <= upper + 0.001
            assert lower - 0.001 <= point <= upper + 0.001
            if fault is None:
                assert upper - lower <= width[operation] + 0.001
            width[operation] = upper - lower
