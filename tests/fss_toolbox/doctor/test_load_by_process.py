"""Whether this kernel could count the load of each process, and what an agent says of it."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.exposition_text import families_of
from tests.fss_kernel_counting.kernel import BY_PROCESS
from tests.fss_toolbox.doctor.clients import client

from fss_exporter.samples import Samples
from fss_kernel_counting.processes.births import EVENTS
from fss_toolbox.doctor.client_facts import Exactness
from fss_toolbox.doctor.findings import Finding
from fss_toolbox.doctor.kernel_counting import check_load_by_process, exactness_of
from fss_toolbox.doctor.running_exporter import _parts


def tracefs(root: Path, *without: str, synthetic: bool = True) -> Path:
    """Files as a kernel shows them."""
    for event, names in BY_PROCESS.items():
        if event not in without:
            folder = root / "events" / event
            folder.mkdir(parents=True)
            lines = "".join(f"\tfield:u32 {name};\toffset:8;\tsize:4;\tsigned:0;\n" for name in names)
            (folder / "format").write_text(f"name: {event}\nID: 7\nformat:\n{lines}")
    for event, wanted in EVENTS.items():
        folder = root / "events" / event
        folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(
            f"\tfield:u32 {name};\toffset:{8 + 4 * at};\tsize:4;\tsigned:0;\n" for at, name in enumerate(wanted)
        )
        (folder / "format").write_text(f"name: {event}\nID: 7\nformat:\n{lines}")
    if synthetic:
        (root / "dynamic_events").touch()
    return root


def missing_parts(places: tuple[Path, ...]) -> Mapping[str, str]:
    return exactness_of(places, Path("/nowhere")).missing_parts


def told(parts: Mapping[str, str], exactness: Exactness | None = None) -> list[Finding]:
    return list(check_load_by_process(client(exactness=exactness or Exactness(root="/t", missing_parts=parts))))


def test_a_kernel_that_can_has_the_command_for_it(tmp_path: Path) -> None:
    (only,) = told(missing_parts((tracefs(tmp_path),)))

    assert "fss-exporter iostat --by process 5" in only.fix


@pytest.mark.parametrize(
    ("without", "part", "reason"),
    [
        ("nfs/nfs_initiate_read", "reads", "no event nfs/nfs_initiate_read"),
        ("nfs/nfs_rename_enter", "RENAME", "no event nfs/nfs_rename_enter"),
        ("writeback/writeback_dirty_folio", "writers", "no event writeback/writeback_dirty_folio"),
    ],
)
def test_each_part_that_the_kernel_lacks_is_named_with_the_reason(
    tmp_path: Path, without: str, part: str, reason: str
) -> None:
    first, last = told(missing_parts((tracefs(tmp_path, without),)))

    assert first.subject == part
    assert reason in first.message
    assert "can count" in last.message


def test_a_kernel_without_synthetic_events_names_no_writers(tmp_path: Path) -> None:
    assert missing_parts((tracefs(tmp_path, synthetic=False),)) == {
        "writers": "the kernel is built without CONFIG_SYNTH_EVENTS"
    }


def test_where_exact_mode_cannot_be_its_own_check_says_why(tmp_path: Path) -> None:
    assert missing_parts((tmp_path / "none",)) == {}
    assert told({}, Exactness(reason="no tracefs")) == []


def test_an_agent_whose_part_counts_nothing_is_reported_with_the_reason() -> None:
    text = (
        "# TYPE fss_nfs_process_part_active gauge\n"
        'fss_nfs_process_part_active{part="reads"} 1\nfss_nfs_process_part_active{part="writers"} 0\n'
        "# TYPE fss_nfs_process_part_failures_total counter\n"
        'fss_nfs_process_part_failures_total{part="writers",reason="refused"} 1\n'
    )
    (only,) = _parts(Samples(families_of(text)))

    assert (only.subject, only.message) == (
        "writers",
        "this part of the load by process counts nothing: refused",
    )
