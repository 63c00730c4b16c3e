"""Files saved of a recorded client, changed where a test says so, and `iostat` between two of them."""

from collections.abc import Callable
from pathlib import Path

from tests.prompt import RECORDINGS, Answer, ask

MIXED = RECORDINGS / "k_mixed"


def compare(before: Path, after: Path, *flags: object) -> Answer:
    return ask("iostat", "--from", before, "--to", after, *flags)


def edited(path: Path, tmp_path: Path, change: Callable[[str], str], name: str = "edited.txt") -> Path:
    text = path.read_text()
    changed = change(text)
    assert changed != text
    copy = tmp_path / name
    copy.write_text(changed)
    return copy
