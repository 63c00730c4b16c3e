"""The C library is asked to give memory back, and is not needed to."""

import ctypes
from types import SimpleNamespace

import pytest

from fss_exporter.cli.allocator import give_large_blocks_back


def test_both_knobs_are_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    turned: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda knob, value: turned.append((knob, value)))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    give_large_blocks_back()
    assert turned == [(-3, 128 * 1024), (-8, 1)]


def test_a_c_library_without_the_knobs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    give_large_blocks_back()
