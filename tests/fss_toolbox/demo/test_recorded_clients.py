"""Recorded clients show only what a kernel can show, however long they play."""

import re
from pathlib import Path

from fss_toolbox.demo.recorded_clients import Clients


def test_no_number_is_negative_after_many_rounds(tmp_path: Path) -> None:
    """The seconds since the last use of a connection fall to 0 in a recording, and are no counter."""
    clients = Clients(tmp_path)
    clients.advance(2000)
    assert not re.search(r"\s-\d", (tmp_path / "1" / "mountstats").read_text())
