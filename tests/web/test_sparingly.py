import logging

import pytest

from fss_exporter.web.sparingly import Sparingly


class Clock:
    """Seconds a test moves by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_fault_that_repeats_is_logged_once_a_minute_with_a_count(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    fault = Sparingly(logging.getLogger("test"), period_seconds=60, clock=clock)

    for second in range(150):
        clock.now = 100.0 + second
        fault("refused", f"refused a request in second {second}")

    assert [record.message for record in caplog.records] == [
        "refused a request in second 0",
        "refused a request in second 60 (and 59 more like it since the last such line)",
        "refused a request in second 120 (and 59 more like it since the last such line)",
    ]


def test_kinds_do_not_keep_each_other_silent(caplog: pytest.LogCaptureFixture) -> None:
    fault = Sparingly(logging.getLogger("test"), clock=Clock())

    for kind in ("one", "other"):
        fault(kind, kind, level=logging.ERROR)

    assert [(record.message, record.levelname) for record in caplog.records] == [("one", "ERROR"), ("other", "ERROR")]
