import logging

import pytest
from tests.clock import Clock

from fss_exporter.log_once import LogOnce

LOG = logging.getLogger("test.log_once")


def test_one_kind_is_logged_once_a_period_with_a_count(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock(0.0)
    once = LogOnce(LOG, period_seconds=60, clock=clock)

    for _ in range(3):
        once.failed("read", "cannot read")
    clock.now = 60
    once.failed("read", "cannot read")

    assert caplog.messages == ["cannot read", "cannot read (and 2 more since the last such line)"]


def test_kinds_do_not_silence_each_other(caplog: pytest.LogCaptureFixture) -> None:
    once = LogOnce(LOG)

    once.failed("read", "cannot read")
    once.failed("write", "cannot write")

    assert caplog.messages == ["cannot read", "cannot write"]


def test_recovery_is_logged_only_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    once = LogOnce(LOG)

    once.works("read", "reads again")
    once.failed("read", "cannot read")
    once.works("read", "reads again")
    once.works("read", "reads again")

    assert caplog.messages == ["cannot read", "reads again"]
