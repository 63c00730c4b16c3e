"""Who gets what was counted, on small numbers."""

from collections import Counter, defaultdict

from tests.who_recordings import RECORDINGS

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverride, CostOverrides
from fss_kernel_counting.hist_tables import Grown, HistParser
from fss_kernel_counting.processes import thread_tables
from fss_kernel_counting.processes.attribution import (
    BYTES,
    KERNEL,
    UNKNOWN_WRITER,
    Attribution,
    Counted,
    Kind,
    Place,
    Thread,
    Work,
    amount,
)
from fss_kernel_counting.processes.costliest import Amount

HERE = Place("10.0.0.3", 3, "weighted")
DD, WORKER = Thread(7, "dd"), Thread(9, "kworker/u4:0")
ODD = "& 32767"
BLOCK = 32768


def transfers(thread: Thread, procedure: str, count: int, blocks: int = 1) -> Work:
    """That many, each of whole blocks."""
    payload = count * blocks * BLOCK
    return Counter({(HERE, thread, Kind(procedure, blocks)): count, (HERE, thread, Kind(procedure, BYTES)): payload})


def calls(thread: Thread, **counts: int) -> Work:
    """Calls by procedure."""
    return Counter({(HERE, thread, Kind(procedure)): count for procedure, count in counts.items()})


def test_each_reader_gets_its_own_reads() -> None:
    sent = transfers(DD, "READ", 3) + transfers(WORKER, "READ", 2)

    assert Attribution().loads(Counted(sent)) == sent


def test_write_back_goes_to_the_thread_that_dirtied_the_file() -> None:
    attribution = Attribution()
    loads = attribution.loads(Counted(transfers(WORKER, "WRITE", 5, 32), joined=transfers(DD, "WRITE", 5, 32)))

    assert loads == transfers(DD, "WRITE", 5, 32)
    assert attribution.loads(Counted()) == Counter()


def test_unclaimed_write_back_belongs_to_an_unknown_writer_at_the_next_look() -> None:
    attribution = Attribution()
    first = attribution.loads(Counted(transfers(WORKER, "WRITE", 5, 2) + transfers(DD, "WRITE", 1)))
    second = attribution.loads(Counted(joined=transfers(DD, "WRITE", 3, 2)))

    assert first == transfers(DD, "WRITE", 1)
    assert second == transfers(DD, "WRITE", 3, 2) + transfers(UNKNOWN_WRITER, "WRITE", 2, 2)
    assert attribution.loads(Counted()) == Counter()


def test_a_claim_seen_before_the_work_is_counted_once() -> None:
    attribution = Attribution()
    first = attribution.loads(Counted(joined=transfers(DD, "WRITE", 4)))
    second = attribution.loads(Counted(transfers(WORKER, "WRITE", 4)))

    assert first == transfers(DD, "WRITE", 4)
    assert second == attribution.loads(Counted()) == Counter()


def test_metadata_goes_to_the_thread_that_waited() -> None:
    sent = calls(DD, LOOKUP=3) + calls(WORKER, REMOVE=2, COMMIT=1)

    assert Attribution().loads(Counted(sent)) == sent


def test_a_rename_that_a_worker_carried_out_goes_to_the_process_that_asked_for_it() -> None:
    attribution = Attribution()
    loads = attribution.loads(Counted(calls(WORKER, RENAME=6), claims=calls(DD, RENAME=4)))

    assert loads == calls(DD, RENAME=4)
    assert attribution.loads(Counted()) == calls(KERNEL, RENAME=2)


def test_a_rename_that_the_process_itself_waited_for_is_counted_once() -> None:
    attribution = Attribution()
    loads = attribution.loads(Counted(calls(DD, RENAME=4), claims=calls(DD, RENAME=4)))

    assert loads == calls(DD, RENAME=4)
    assert attribution.loads(Counted()) == Counter()


def _growth(name: str) -> dict[str, Grown]:
    tables = HistParser().parse((RECORDINGS / "cost" / name).read_bytes())
    return {table.condition: list(table.rows.items()) for table in tables if ODD in table.condition}


def test_the_cost_of_three_recorded_writers_adds_up_to_that_of_the_calls() -> None:
    """448 I/O operations by nfs_writeback_done. The recording has 312, 108 and 22 by writer, and 6 that a writer sent itself."""
    writers = {(38, number): "python3" for number in (292, 293, 294)}
    attribution = Attribution()
    loads = attribution.loads(
        Counted(
            thread_tables.work(thread_tables.sent(_growth("nfs_initiate_write.txt"), "WRITE", lambda _: HERE)),
            thread_tables.work(thread_tables.joined(_growth("nfswho.txt"), writers, lambda _: HERE)),
        )
    )
    costs: dict[int, float] = defaultdict(float)
    for (_, thread, kind), count in loads.items():
        costs[thread.number] += amount("weighted", kind, count, NO_OVERRIDES).io_operations

    assert costs == {292: 312, 293: 108, 294: 28}
    assert attribution.loads(Counted()) == Counter()


def test_a_thread_that_dirtied_nothing_on_the_device_gets_nothing_of_it() -> None:
    """Two files with one number on two mounts: the join gives both to the last writer."""
    assert not list(thread_tables.joined(_growth("nfswho.txt"), {(39, 292): "python3"}, lambda _: HERE))


def test_a_measured_cost_replaces_the_table_of_the_paper() -> None:
    measured = CostOverrides(
        (CostOverride("LOOKUP", 5.0, 1.0, "2026-11-22", "test"), CostOverride("READ", None, 2.0, "", ""))
    )
    reads, lookup = Kind("READ", 3), Kind("LOOKUP")

    assert amount("weighted", reads, 2, NO_OVERRIDES) == Amount(2, 8.0)
    assert amount("weighted", lookup, 1, NO_OVERRIDES) == Amount(1, 2.0)
    assert amount("weighted", reads, 2, measured) == Amount(2, 16.0)
    assert amount("weighted", lookup, 1, measured) == Amount(1, 5.0)


def test_a_service_without_weights_costs_its_reads_and_writes_or_nothing() -> None:
    assert amount("plain", Kind("WRITE", 3), 2, NO_OVERRIDES) == Amount(2, 2.0)
    assert amount("plain", Kind("LOOKUP"), 2, NO_OVERRIDES) == Amount(2, 0.0)
    assert amount("unknown", Kind("READ", 3), 2, NO_OVERRIDES) == Amount(2, 0.0)


def test_payload_costs_nothing_beside_its_calls() -> None:
    assert amount("weighted", Kind("READ", BYTES), 4096, NO_OVERRIDES) == Amount(read_bytes=4096)
    assert amount("weighted", Kind("WRITE", BYTES), 4096, NO_OVERRIDES) == Amount(written_bytes=4096)
