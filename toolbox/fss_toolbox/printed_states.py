# SPDX-License-Identifier: Apache-2.0
"""States as the commands print them."""

from typing import Any

from fss_exporter import RUNBOOK, durations
from fss_exporter.model.state import NO_REPLY_YET, WAIT, StateNow


def sentence(now: StateNow, may_wait: str = NO_REPLY_YET, runbook: str = RUNBOOK) -> str:
    """Return a state with its reason and where to read on: `slow for 57 s: latency at 130 % of the objective (docs/runbook.md#fssclientslow)`.

    `may_wait` tells of requests that may have waited since before the first look. `runbook` is where the exporter that was asked serves it.
    """
    length = "" if now.told_seconds is None else f" for {durations.in_words(now.told_seconds)}"
    if not now.reasons:
        where = f" ({runbook}#{now.runbook})" if now.runbook else ""
        return f"{now.word}{', idle' if now.is_idle else ''}{length}{where}"
    first = now.reasons[0]
    who = f", {first.who}" if first.who else ""
    text = may_wait if first.subject is WAIT and first.figure is None else first.text
    return f"{now.state.word}{length}: {text}{who} ({runbook}#{now.runbook})"


def state_document(now: StateNow) -> dict[str, Any]:
    """Return a state as JSON."""
    return {
        "state": now.state.word,
        "seconds": now.seconds,
        "is_idle": now.is_idle,
        "reasons": [
            {
                "subject": reason.subject.name,
                "detail": reason.detail,
                "value": reason.figure and reason.figure.value,
                "unit": reason.subject.unit,
                "runbook": reason.subject.runbook,
            }
            for reason in now.reasons
        ],
    }
