# SPDX-License-Identifier: Apache-2.0
"""States as the commands print them."""

from typing import Any

from fss_exporter.model.state import StateNow
from fss_toolbox import printed


def sentence(now: StateNow) -> str:
    """Return a state with its reason and where to read on: `hanging for 57 s: no reply for 57 s (runbook: fssmounttargetdown)`."""
    length = "" if now.seconds is None else f" for {printed.age(now.seconds)}"
    if not now.reasons:
        where = f" (docs/runbook.md#{now.runbook})" if now.runbook else ""
        return f"{now.word}{', idle' if now.is_idle else ''}{length}{where}"
    first = now.reasons[0]
    who = f", {first.who}" if first.who else ""
    return f"{now.state.word}{length}: {first.text}{who} (docs/runbook.md#{now.runbook})"


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
