"""The estimate against packet captures of a real client: what the project promises."""

import json
import lzma
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab.kernels.guest.drawn import SEED, drawn
from tests.mixes import errors
from tests.recordings import (
    METADATA,
    UNSEEN,
    Recording,
    RecordingError,
    is_frozen,
    load_all,
    load_live,
    load_older,
    load_repeated,
    load_unseen,
)
from tools.check.accuracy import (
    DOCUMENT,
    MEAN_TARGET_ERROR,
    OUT_OF_REACH,
    SEEN_TITLE,
    UNSEEN_TITLE,
    documented,
    mean_error,
    measure,
    sets,
)

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.operations import READ, WRITE

ALL = (load_all, load_live, load_repeated, load_older, load_unseen)
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
    assert documented() == DOCUMENT.read_text(), "write it anew: python -m tools.check.accuracy --write"


def test_the_worst_simulated_mix_is_the_documented_one() -> None:
    name, error = max(errors(), key=lambda mix: abs(mix[1]))

    assert (name, f"{error:.0%}") == ("97 % 32 KiB, 3 % 4 KiB", "25%")
    assert "3 % of 4 KiB within one second. Its estimate is 25 % off" in DOCUMENT.read_text()


class TestSets:
    """What the rule knew of a recording decides what its error proves."""

    def test_the_drawn_workloads_are_called_unseen_only_while_the_rule_is_the_frozen_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert sets()[0][0] == (UNSEEN_TITLE if is_frozen() else SEEN_TITLE)
        monkeypatch.setattr("tools.check.accuracy.is_frozen", lambda: False)
        assert "| tuning since the rule changed" in documented()

    def test_every_drawn_workload_was_recorded_and_none_was_left_out(self) -> None:
        entries = json.loads(lzma.decompress(UNSEEN.with_suffix(".json.xz").read_bytes()))
        recorded = [[entry[key] for key in ("name", "kind", "options", "programs")] for entry in entries]
        wanted = [
            [workload.name, workload.kind, workload.options, [list(program) for program in workload.during]]
            for workload in drawn(SEED)
        ]
        assert len(wanted) >= 30
        assert recorded == wanted
        assert f"| {SEED} (" in UNSEEN.read_text()

    def test_no_recording_stands_in_two_sets(self) -> None:
        looks = [(recording.name, recording.looks[0][0]) for load in ALL for recording in load()]
        assert len(set(looks)) == len(looks)
        assert [len(load()) for load in ALL] == [58, 19, 44, 15, 42]

    def test_the_truth_lies_within_the_bounds_of_every_recording_where_a_counter_can_tell(self) -> None:
        rows = [row for _, rows in sets() for row in rows]
        assert [row.name for row in rows if row.outside and row.name not in OUT_OF_REACH] == []

    def test_what_is_called_a_bound_is_no_more_than_the_truth_and_a_likely_value_is_no_bound(self) -> None:
        """Also where no counter can tell the cost. Of 22 of the 42 drawn workloads the likely value lies above the truth."""
        rows = [row for _, rows in sets() for row in rows]
        drawn_rows = rows[:42]
        for row in rows:
            estimate = Bounds(row.lower, row.point, row.upper)
            words = KnownFigure.of(estimate, FigureSource.HOST).in_words(repr)
            least = re.search(r"at least (\S+)|\((\S+) to ", words)
            assert least, words
            assert float(least[1] or least[2]) <= row.exact + 0.5, (row.name, words)
        assert sum(row.point > row.exact + 0.5 for row in drawn_rows) == 22

    def test_no_set_but_the_drawn_one_is_further_off_than_its_target(self) -> None:
        rows = [row for _, rows in sets() for row in rows]
        assert [row.name for row in rows if abs(row.error) > row.target] == []


class TestOtherRecordings:
    """`make accuracy ARGS=DIRECTORY` on something that is no set of recordings."""

    @pytest.fixture
    def recording(self, tmp_path: Path) -> Path:
        source = Path(__file__).parents[2] / "fixtures" / "recordings" / "kernel-6.12" / "a_randread_4k"
        return Path(shutil.copytree(source, tmp_path / "mine" / "a_randread_4k"))

    def test_a_directory_that_does_not_exist_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(RecordingError, match="nowhere: no such directory"):
            load_all(tmp_path / "nowhere")

    def test_an_empty_directory_says_what_a_recording_is(self, tmp_path: Path) -> None:
        with pytest.raises(RecordingError, match=r"no recording: a folder with truth\.json and snaps"):
            load_all(tmp_path)

    def test_a_recording_without_mountinfo_says_what_is_missing(self, recording: Path) -> None:
        for mounts in recording.glob("mountinfo*"):
            mounts.unlink()
        with pytest.raises(RecordingError, match=r"a_randread_4k: no mountinfo"):
            load_all(recording.parent)

    @pytest.mark.parametrize("content", ["", "[]", "{}", "{nothing"])
    def test_a_truth_that_is_none_is_named(self, content: str, recording: Path) -> None:
        (recording / "truth.json").write_text(content)
        with pytest.raises(RecordingError, match="a_randread_4k"):
            load_all(recording.parent)

    def test_a_link_to_recordings_is_followed(self, recording: Path, tmp_path: Path) -> None:
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "one").symlink_to(recording)
        assert [recording.name for recording in load_all(tmp_path / "links")] == ["one"]

    def test_the_command_prints_one_line_and_no_traceback(self, tmp_path: Path) -> None:
        run = subprocess.run(
            [sys.executable, "-m", "tools.check.accuracy", str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert run.returncode == 1
        assert run.stderr == f"accuracy: {tmp_path}: no recording: a folder with truth.json and snaps.txt.gz for each\n"
