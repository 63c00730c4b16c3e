"""docs/fio: the job files are the white paper's method, line by line."""

import configparser
from pathlib import Path

import pytest

JOBS = Path(__file__).parents[2] / "docs/fio"

# White paper, version 2.0, August 2023, Test Results: fio with libaio, direct, 32 in flight, 8 jobs of 8G each, 180 s.
METHOD = {
    "ioengine": "libaio",
    "direct": "1",
    "iodepth": "32",
    "numjobs": "8",
    "size": "8g",
    "runtime": "180",
    "time_based": None,
    "group_reporting": None,
}


def sections(name: str) -> dict[str, dict[str, str | None]]:
    parser = configparser.ConfigParser(allow_no_value=True)
    parser.read(JOBS / f"{name}.fio")
    return {section: dict(parser[section]) for section in parser.sections()}


@pytest.mark.parametrize("direction", ["randread", "randwrite"])
@pytest.mark.parametrize("size", ["32k", "1m"])
def test_each_of_the_papers_four_runs_has_its_lines_and_no_other(direction: str, size: str) -> None:
    name = f"{direction}-{size}"
    assert sections(name) == {"global": METHOD, name: {"rw": direction, "bs": size}}
    head = (JOBS / f"{name}.fio").read_text()
    assert "The method of the white paper" in head
    assert f"--directory=/mnt/fss docs/fio/{name}.fio" in head


def test_the_mix_differs_from_the_method_only_in_its_mix() -> None:
    mixed = sections("mixed-64k")
    assert mixed == {"global": METHOD, "mixed-64k": {"rw": "randrw", "rwmixread": "70", "bs": "64k"}}
    assert "the paper measured no mix" in (JOBS / "mixed-64k.fio").read_text()


def test_no_other_file_claims_the_method() -> None:
    claims = {path.stem for path in JOBS.glob("*.fio") if "The method of the white paper" in path.read_text()}
    assert claims == {f"{direction}-{size}" for direction in ("randread", "randwrite") for size in ("32k", "1m")}
