"""`fss-exporter top` at the prompt: what it refuses, and what it says without its screen."""

import sys

import pytest
from tests.prompt import ask


def test_a_pipe_is_sent_to_iostat() -> None:
    answer = ask("top")
    assert answer.code == 2
    assert "fss-exporter iostat 5" in answer.err


def test_two_sources_are_refused() -> None:
    answer = ask("top", "--url", "http://127.0.0.1:1/metrics", "--prometheus", "http://127.0.0.1:1")
    assert answer.code == 2
    assert "give one of them" in answer.err


def test_a_missing_textual_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "textual" or name.endswith(".top_screen")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual", None)
    answer = ask("top")
    assert answer.code == 2
    assert "textual" in answer.err
    assert "pip install '.[top]'" in answer.err
