"""Who gets what was counted, on small numbers."""

from collections import Counter

from tests.who_recordings import RECORDINGS

from fss_exporter.model.cost_overrides import CostOverride, CostOverrides
from fss_kernel_counting.hist_tables import Grown, HistParser
from fss_kernel_counting.processes import thread_tables
from fss_kernel_counting.processes.attribution import (
    KERNEL,
    UNKNOWN_WRITER,
    Attribution,
    Counted,
    Place,
    Thread,
    ThreadLoad,
)
from fss_kernel_counting.sizes.size_counts import CountedTransfers

HERE = Place("10.0.0.3", 3, "weighted")
DD, WORKER = Thread(7, "dd"), Thread(9, "kworker/u4:0")
ODD = "& 32767"
BLOCK = 32768


def transfers(count: int, blocks: int = 1) -> CountedTransfers:
    """That many, each of whole blocks."""
    return CountedTransfers(count, count * blocks, count * blocks * BLOCK, {blocks: count})


def test_each_reader_gets_its_own_reads() -> None:
    loads = Attribution().loads(Counted(reads={(HERE, DD): transfers(3), (HERE, WORKER): transfers(2)}))

    assert loads == {(HERE, DD): ThreadLoad(reads=transfers(3)), (HERE, WORKER): ThreadLoad(reads=transfers(2))}


def test_write_back_goes_to_the_thread_that_dirtied_the_file() -> None:
    attribution = Attribution()
    loads = attribution.loads(Counted(writes={(HERE, WORKER): transfers(5, 32)}, joined={(HERE, DD): transfers(5, 32)}))

    assert loads == {(HERE, DD): ThreadLoad(writes=transfers(5, 32))}
    assert attribution.loads(Counted()) == {}


def test_unclaimed_write_back_belongs_to_an_unknown_writer_at_the_next_look() -> None:
    attribution = Attribution()
    first = attribution.loads(Counted(writes={(HERE, WORKER): transfers(5, 2), (HERE, DD): transfers(1)}))
    second = attribution.loads(Counted(joined={(HERE, DD): transfers(3, 2)}))

    assert first == {(HERE, DD): ThreadLoad(writes=transfers(1))}
    assert second == {
        (HERE, DD): ThreadLoad(writes=transfers(3, 2)),
        (HERE, UNKNOWN_WRITER): ThreadLoad(writes=transfers(2, 2)),
    }
    assert attribution.loads(Counted()) == {}


def test_a_claim_seen_before_the_work_is_counted_once() -> None:
    attribution = Attribution()
    first = attribution.loads(Counted(joined={(HERE, DD): transfers(4)}))
    second = attribution.loads(Counted(writes={(HERE, WORKER): transfers(4)}))

    assert first == {(HERE, DD): ThreadLoad(writes=transfers(4))}
    assert second == attribution.loads(Counted()) == {}


def test_metadata_goes_to_the_thread_that_waited() -> None:
    calls = Counter({(HERE, DD, "LOOKUP"): 3, (HERE, WORKER, "REMOVE"): 2, (HERE, WORKER, "COMMIT"): 1})

    assert Attribution().loads(Counted(calls=calls)) == {
        (HERE, DD): ThreadLoad(calls=Counter(LOOKUP=3)),
        (HERE, WORKER): ThreadLoad(calls=Counter(REMOVE=2, COMMIT=1)),
    }


def test_calls_that_are_counted_by_size_are_not_counted_again() -> None:
    calls = Counter({(HERE, WORKER, "READ"): 3, (HERE, DD, "WRITE"): 2, (HERE, DD, "READ_PLUS"): 1})

    assert Attribution().loads(Counted(calls=calls)) == {}


def test_a_rename_that_a_worker_carried_out_goes_to_the_process_that_asked_for_it() -> None:
    attribution = Attribution()
    calls = Counter({(HERE, WORKER, "RENAME"): 6})
    loads = attribution.loads(Counted(calls=calls, claims=Counter({(HERE, DD, "RENAME"): 4})))

    assert loads == {(HERE, DD): ThreadLoad(calls=Counter(RENAME=4))}
    assert attribution.loads(Counted()) == {(HERE, KERNEL): ThreadLoad(calls=Counter(RENAME=2))}


def test_a_rename_that_the_process_itself_waited_for_is_counted_once() -> None:
    key = (HERE, DD, "RENAME")
    attribution = Attribution()
    loads = attribution.loads(Counted(calls=Counter({key: 4}), claims=Counter({key: 4})))

    assert loads == {(HERE, DD): ThreadLoad(calls=Counter(RENAME=4))}
    assert attribution.loads(Counted()) == {}


def _growth(name: str) -> dict[str, Grown]:
    tables = HistParser().parse((RECORDINGS / "cost" / name).read_bytes())
    return {table.condition: list(table.rows.items()) for table in tables if ODD in table.condition}


def test_the_cost_of_three_recorded_writers_adds_up_to_that_of_the_calls() -> None:
    """448 I/O operations by nfs_writeback_done. The recording has 312, 108 and 22 by writer, and 6 that a writer sent itself."""
    sent = thread_tables.sent(_growth("nfs_initiate_write.txt"), lambda _: HERE)
    joined = thread_tables.joined(
        _growth("nfswho.txt"),
        {(38, number): "python3" for number in (292, 293, 294)},
        lambda _: HERE,
    )
    attribution = Attribution()
    loads = attribution.loads(Counted(writes=sent, joined=joined))

    assert {thread.number: load.cost("weighted") for (_, thread), load in loads.items()} == {
        292: 312,
        293: 108,
        294: 28,
    }
    assert attribution.loads(Counted()) == {}


def test_a_thread_that_dirtied_nothing_on_the_device_gets_nothing_of_it() -> None:
    """Two files with one number on two mounts: the join gives both to the last writer."""
    assert thread_tables.joined(_growth("nfswho.txt"), {(39, 292): "python3"}, lambda _: HERE) == {}


def test_a_measured_cost_replaces_the_table_of_the_paper() -> None:
    overrides = CostOverrides(
        (CostOverride("LOOKUP", 5.0, 1.0, "2026-11-22", "test"), CostOverride("READ", None, 2.0, "", ""))
    )
    load = ThreadLoad(reads=transfers(2, 3), calls=Counter(LOOKUP=1, ACCESS=1))

    assert load.cost("weighted") == 8 + 2 + 1
    assert load.cost("weighted", overrides) == 16 + 5 + 1
    assert load.cost("plain") == 2
    assert load.cost("unknown") is None
