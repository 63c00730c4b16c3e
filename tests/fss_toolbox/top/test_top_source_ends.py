"""The source of `fss-exporter top` is closed once at the end, whatever it does then. with_ends.py has the terminal."""

import threading

from tests.processes import PROMPT_S

from fss_toolbox.top.picture import Parts
from fss_toolbox.top.refresher import Refresher


class Silent:
    """A source that is closed at the end."""

    title, opens, period_seconds, interval = "a source", "mounts", 60.0, 60.0

    def __init__(self) -> None:
        self.closed = 0

    def read(self) -> None:
        """Know nothing."""

    def parts(self, *_: object) -> Parts:
        """Know nothing."""
        return Parts()

    def close(self) -> None:
        """Count the calls."""
        self.closed += 1


def test_a_source_that_hangs_as_it_closes_holds_up_no_second_end() -> None:
    goes_on, hangs = threading.Event(), threading.Event()

    class Hanging(Silent):
        def close(self) -> None:
            hangs.set()
            goes_on.wait(PROMPT_S)

    refresher = Refresher(Hanging(), print)
    ends = [threading.Thread(target=refresher.end, args=(0.0,), daemon=True) for _ in range(2)]
    ends[0].start()
    try:
        assert hangs.wait(PROMPT_S)
        ends[1].start()
        ends[1].join(PROMPT_S / 10)
        assert not ends[1].is_alive()
    finally:
        goes_on.set()
        ends[0].join(PROMPT_S)


def test_a_signal_before_the_first_look_closes_the_source() -> None:
    source = Silent()
    Refresher(source, print).end(0.0)
    assert source.closed == 1
