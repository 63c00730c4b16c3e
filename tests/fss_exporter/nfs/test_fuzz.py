"""A short run of `make fuzz`."""

from tests.fss_exporter.nfs import fuzz


def test_damaged_records_raise_nothing_take_no_counter_back_and_change_no_other_mount() -> None:
    assert max(fuzz.run(500, seed=7)) == 500
