"""Inputs of the field: what users paste, each with the right answer. tests/fixtures/field has a file for each."""

import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.prompt import ROOT, ask

CASES = ROOT / "tests/fixtures/field"


def _at(document: Any, place: str) -> Any:
    for key in place.split("."):
        document = document[int(key) if isinstance(document, list) else key]
    return document


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.toml")))
def test_an_input_of_the_field_has_the_right_answer(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = tomllib.loads((CASES / f"{name}.toml").read_text())
    assert case["source"]
    assert case["date"]
    for file, text in case["files"].items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, newline="")
    monkeypatch.chdir(tmp_path)

    answer = ask(*shlex.split(case["command"]))

    assert answer.code == case.get("code", 0), answer.err
    assert [text for text in case.get("says", ()) if text not in answer.out + answer.err] == []
    assert [text for text in case.get("never", ()) if text in answer.out + answer.err] == []
    for place, value in case.get("right", {}).items():
        got = _at(answer.document, place)
        assert got == (value if isinstance(value, str) else pytest.approx(value, rel=0.01)), f"{case['what']}: {place}"
