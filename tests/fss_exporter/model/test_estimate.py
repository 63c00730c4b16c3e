"""The laws of the estimate: the truth lies within the bounds, the point too, and more never bounds less."""

from itertools import product
from math import ceil
from random import Random

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.estimate import Bounds, TransferChange, estimate_transfers, estimated_cost, wire_of
from fss_exporter.model.operations import READ, WRITE, read_io_operations, write_io_operations

KIB, MIB = 1024, 1024 * 1024

caps = st.sampled_from((4 * KIB, 32 * KIB, 48 * KIB, 64 * KIB, 128 * KIB, MIB))


def size_lists(cap: int) -> st.SearchStrategy[list[int]]:
    pages = st.integers(0, cap // (4 * KIB)).map(lambda count: count * 4 * KIB)
    return st.lists(st.one_of(st.integers(0, cap), pages, st.just(cap)), max_size=40)


workloads = caps.flatmap(lambda cap: st.tuples(st.just(cap), size_lists(cap)))


def padded(size: int) -> int:
    return -(-size // 4) * 4


def received(sizes: list[int]) -> int:
    return sum(128 + padded(size) for size in sizes)


def sent(sizes: list[int], header: int) -> int:
    return sum(header + padded(size) for size in sizes)


def holds(bounds: Bounds, truth: float) -> bool:
    return bounds.lower <= truth <= bounds.upper and bounds.lower <= bounds.point <= bounds.upper


@pytest.mark.parametrize(("count", "cap"), [(-1, MIB), (1, 0), (1, -5)])
def test_counts_and_caps_that_cannot_be_are_refused(count: int, cap: int) -> None:
    with pytest.raises(ValueError, match="operations of at most"):
        estimate_transfers(READ, count, 0, cap)


def test_no_operations_cost_nothing_whatever_the_bytes() -> None:
    assert estimate_transfers(READ, 0, 5 * MIB, MIB) == Bounds(0, 0, 0)


def test_empty_reads_cost_the_minimum() -> None:
    assert estimate_transfers(READ, 7, 0, MIB) == Bounds(14, 14, 14)


def test_more_bytes_than_the_operations_can_carry_count_as_full_operations() -> None:
    assert estimate_transfers(READ, 3, 9 * MIB, MIB) == Bounds(99, 99, 99)


def test_a_counter_that_went_back_counts_as_no_bytes() -> None:
    assert estimate_transfers(READ, 3, -4096, MIB).lower == 6


@pytest.mark.parametrize("size", [4 * KIB, 32 * KIB, 36 * KIB, 128 * KIB, 256 * KIB, MIB])
def test_operations_of_one_size_are_known_exactly(size: int) -> None:
    sizes = [size] * 200
    assert estimate_transfers(READ, 200, sum(sizes), MIB).point == 200 * read_io_operations(size)
    assert estimate_transfers(
        WRITE, 200, sum(sizes), MIB, wire_of(WRITE, sent(sizes, 112))
    ).point == 200 * write_io_operations(size)


@pytest.mark.parametrize("count", [1, 2, 37])
@pytest.mark.parametrize("size", [1, 20_000, 32 * KIB + 1, 32 * KIB + 100, 33_000, 40_000, 77_777, 150_002])
def test_one_size_is_known_exactly_even_where_it_is_no_multiple_of_a_page(size: int, count: int) -> None:
    sizes = [size] * count
    reads = estimate_transfers(READ, count, sum(sizes), MIB, wire_of(READ, received(sizes)))
    writes = estimate_transfers(WRITE, count, sum(sizes), MIB, wire_of(WRITE, sent(sizes, 112)))
    assert reads.point == count * read_io_operations(size)
    assert writes.point == count * write_io_operations(size)


def test_two_sizes_with_a_whole_mean_and_another_padding_are_not_taken_for_one_size() -> None:
    """The mean is 45,057 bytes and needs three bytes of padding. The wire has one byte of padding for each READ."""
    sizes = [8_190, 81_924] * 50
    bounds = estimate_transfers(READ, 100, sum(sizes), MIB, wire_of(READ, received(sizes)))
    assert bounds.point != 100 * read_io_operations(sum(sizes) // 100)


@pytest.mark.parametrize("late", [1, 4, 17])
def test_a_payload_counter_that_is_some_calls_late_does_not_hide_the_one_size(late: int) -> None:
    sizes = [32 * KIB] * 500
    bounds = estimate_transfers(READ, 500, sum(sizes[late:]), MIB, wire_of(READ, received(sizes)))
    assert bounds.point == 1000
    assert holds(bounds, 1000)


@pytest.mark.parametrize("header", [112, 116])
def test_a_header_of_any_multiple_of_four_bytes_shows_the_one_size(header: int) -> None:
    sizes = [32 * KIB] * 500
    bounds = estimate_transfers(WRITE, 500, sum(sizes[4:]), MIB, wire_of(WRITE, sent(sizes, header)))
    assert bounds.point == 500 * write_io_operations(32 * KIB)


def test_the_wire_tells_odd_tails_from_page_multiples() -> None:
    odd = [4 * KIB - 1, 60 * KIB + 3] * 50
    even = [4 * KIB, 60 * KIB] * 50
    of_odd = estimate_transfers(READ, 100, sum(odd), MIB, wire_of(READ, received(odd)))
    of_even = estimate_transfers(READ, 100, sum(even), MIB, wire_of(READ, received(even)))
    assert of_odd.point != of_even.point


def change(
    operation: str, sizes: list[int], wire_bytes: int, options: dict[str, str], again: int = 0
) -> TransferChange:
    return TransferChange("0:42", operation, len(sizes), again, sum(sizes), wire_bytes, 0, options)


@pytest.mark.parametrize("unit_bytes", [1, 4096])
@pytest.mark.parametrize("cap", [32 * 1024, 48 * 1024, 64 * 1024, 1024 * 1024])
@pytest.mark.parametrize("requested_bytes", [20_000, 60_000, 300_000])
def test_requests_that_the_client_splits_at_its_largest_transfer_have_fewer_blocks(
    requested_bytes: int, cap: int, unit_bytes: int
) -> None:
    chance = Random(1)
    sizes: list[int] = []
    for _ in range(20_000):
        request = ceil(chance.expovariate(1) * requested_bytes / unit_bytes) * unit_bytes
        sizes += [cap] * (request // cap) + [request % cap] * (request % cap > 0)
    payload = sum(sizes)
    wire = wire_of(READ, sum(128 + size + -size % 4 for size in sizes))
    truth = sum(map(read_io_operations, sizes))

    assert estimate_transfers(READ, len(sizes), payload, cap, wire).point == pytest.approx(truth, rel=0.01)


def test_a_write_call_that_is_on_the_wire_twice_is_one_operation() -> None:
    """100 calls of 64 KiB, and half of the calls are sent again. The second copy carries bytes and costs nothing."""
    sizes = [64 * KIB] * 100
    wire_bytes = sent(sizes + sizes[:50], 112)
    truth = sum(map(write_io_operations, sizes))
    options = {"sec": "sys", "proto": "tcp", "wsize": str(MIB)}

    assert estimated_cost(change(WRITE, sizes, wire_bytes, options, again=50)) == estimate_transfers(
        WRITE, 100, sum(sizes), MIB
    )
    assert estimated_cost(change(WRITE, sizes, wire_bytes, options, again=50)).point == truth


def test_a_read_call_that_is_on_the_wire_twice_leaves_the_reply_bytes_exact() -> None:
    """The kernel counts only accepted replies, so the replies still tell odd tails from whole pages."""
    sizes = [4 * KIB - 1, 60 * KIB + 3] * 50
    options = {"sec": "sys", "proto": "tcp", "rsize": str(MIB)}

    assert estimated_cost(change(READ, sizes, received(sizes), options, again=50)) == estimate_transfers(
        READ, 100, sum(sizes), MIB, wire_of(READ, received(sizes))
    )


@pytest.mark.parametrize(("operation", "own", "other"), [(READ, "rsize", "wsize"), (WRITE, "wsize", "rsize")])
def test_no_packet_carries_more_than_the_size_of_its_own_direction(operation: str, own: str, other: str) -> None:
    """Payloads of 32 KiB on average fill each packet, if 32 KiB is the most. Otherwise sizes could be unlike."""
    sizes = [32 * KIB] * 100
    narrow = estimated_cost(change(operation, sizes, 0, {own: str(32 * KIB), other: str(MIB)}))
    wide = estimated_cost(change(operation, sizes, 0, {own: str(MIB), other: str(32 * KIB)}))

    assert narrow.lower == narrow.upper
    assert wide.lower < wide.upper


def test_a_mean_header_that_no_request_can_have_shows_that_sizes_differ() -> None:
    """Headers are multiples of 4 bytes. Here the mean is 114, beside a mean size of 32 KiB."""
    sizes = [4 * KIB, 60 * KIB + 2] * 50
    truth = sum(map(write_io_operations, sizes))
    bounds = estimate_transfers(WRITE, 100, sum(sizes), MIB, wire_of(WRITE, sent(sizes, 112)))
    assert bounds.point == pytest.approx(truth, rel=0.05)
    assert holds(bounds, truth)


def test_failed_reads_have_short_replies_that_hide_no_payload_although_the_payload_counter_is_late() -> None:
    """60 READs end one byte into their second block, and 40 fail. The payload of ten is not counted yet."""
    sizes = [32 * KIB + 1] * 60
    wire = wire_of(READ, received(sizes) + 40 * 32, errors=40)
    truth = sum(map(read_io_operations, sizes)) + 40 * read_io_operations(0)

    assert holds(estimate_transfers(READ, 100, sum(sizes[10:]), MIB, wire), truth)


def test_bounds_add_up() -> None:
    assert Bounds(1, 2, 4).plus(Bounds(10, 20, 40)) == Bounds(11, 22, 44)


@given(workloads)
def test_the_truth_of_any_reads_lies_within_the_bounds(workload: tuple[int, list[int]]) -> None:
    cap, sizes = workload
    truth = sum(map(read_io_operations, sizes))
    assert holds(estimate_transfers(READ, len(sizes), sum(sizes), cap), truth)
    assert holds(estimate_transfers(READ, len(sizes), sum(sizes), cap, wire_of(READ, received(sizes))), truth)


@given(workloads, st.integers(104 // 4, 280 // 4))
def test_the_truth_of_any_writes_lies_within_the_bounds(workload: tuple[int, list[int]], header_words: int) -> None:
    cap, sizes = workload
    wire = wire_of(WRITE, sent(sizes, 4 * header_words))
    assert holds(estimate_transfers(WRITE, len(sizes), sum(sizes), cap, wire), sum(map(write_io_operations, sizes)))


@given(workloads, st.data())
def test_the_truth_stays_within_the_bounds_when_the_payload_counter_is_late(
    workload: tuple[int, list[int]], data: st.DataObject
) -> None:
    cap, sizes = workload
    late = data.draw(st.integers(0, len(sizes)))
    bounds = estimate_transfers(READ, len(sizes), sum(sizes[late:]), cap, wire_of(READ, received(sizes)))
    assert holds(bounds, sum(map(read_io_operations, sizes)))


@given(workloads, st.data())
def test_the_truth_of_an_interval_lies_within_the_sum_of_the_bounds_of_its_parts(
    workload: tuple[int, list[int]], data: st.DataObject
) -> None:
    cap, sizes = workload
    cut = data.draw(st.integers(0, len(sizes)))
    parts = [
        estimate_transfers(READ, len(part), sum(part), cap, wire_of(READ, received(part)))
        for part in (sizes[:cut], sizes[cut:])
    ]
    summed = Bounds(*(left + right for left, right in zip(*parts, strict=True)))
    assert holds(summed, sum(map(read_io_operations, sizes)))


@given(caps, st.integers(0, 500), st.integers(0, 500 * MIB), st.integers(0, 50), st.integers(0, 50 * MIB))
def test_more_operations_or_bytes_never_bound_less(
    cap: int, count: int, payload: int, more: int, more_bytes: int
) -> None:
    before = estimate_transfers(READ, count, payload, cap)
    after = estimate_transfers(READ, count + more, payload + more_bytes, cap)
    assert before.lower <= after.lower
    assert before.upper <= after.upper


def test_the_upper_bound_is_reached_by_some_sizes() -> None:
    """Compared with every list of three sizes in steps of 8 KiB and one byte beside them, cap 96 KiB."""
    cap, count = 96 * KIB, 3
    steps = sorted({size for base in range(0, cap + 1, 8 * KIB) for size in (base, base + 1) if size <= cap})
    dearest: dict[int, int] = {}
    for sizes in product(steps, repeat=count):
        cost = sum(map(read_io_operations, sizes))
        dearest[sum(sizes)] = max(cost, dearest.get(sum(sizes), 0))
    for payload in range(0, count * cap, 32 * KIB):
        reachable = max(cost for total, cost in dearest.items() if total <= payload)
        assert estimate_transfers(READ, count, payload, cap).upper == reachable
