"""The estimate against packet captures of a real client: what the project promises."""

import pytest
from tests.accuracy import DOCUMENT, MEAN_TARGET_ERROR, OUT_OF_REACH, documented, mean_error, measure, report
from tests.recordings import METADATA, Recording, load_all

from fss_exporter.model.operations import READ, WRITE

WITHIN_REACH = [
    pytest.param(recording, id=f"{recording.kernel}-{recording.name}")
    for recording in load_all()
    if recording.name not in OUT_OF_REACH
]


@pytest.mark.parametrize("recording", WITHIN_REACH)
def test_the_truth_lies_within_the_bounds_and_the_point_close_to_it(recording: Recording) -> None:
    row = measure(recording)

    assert row.outside == ()
    assert abs(row.error) <= row.target


@pytest.mark.parametrize("recording", WITHIN_REACH)
def test_exact_operations_agree_with_the_packets_to_the_unit(recording: Recording) -> None:
    assert recording.estimate()[METADATA].point == recording.exact[METADATA]


def test_the_mean_error_is_small() -> None:
    assert mean_error(map(measure, load_all())) <= MEAN_TARGET_ERROR


def test_every_recording_named_as_out_of_reach_exists_and_is() -> None:
    rows = {recording.name: measure(recording) for recording in load_all()}
    assert OUT_OF_REACH.keys() <= rows.keys()
    assert all(rows[name].exact != round(rows[name].point) for name in OUT_OF_REACH)


def test_short_direct_reads_lie_within_the_bounds_of_what_came_back() -> None:
    """The client asks for 1 MiB and gets less: counters show the answers only."""
    (short,) = (recording for recording in load_all() if recording.name == "c6_direct_short")
    bounds = short.estimate()[READ]
    assert bounds.lower <= short.truth["read_cost_returned"] <= bounds.upper


def test_the_recordings_hold_reads_writes_and_metadata() -> None:
    kinds = {kind for recording in load_all() for kind, cost in recording.exact.items() if cost}
    assert kinds == {READ, WRITE, METADATA}


def test_the_documented_table_is_what_make_accuracy_prints() -> None:
    assert documented(report()) == DOCUMENT.read_text(), "write it anew: python -m tests.accuracy --write"
