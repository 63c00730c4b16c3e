# SPDX-License-Identifier: Apache-2.0
"""The states that an exporter serves with its metrics. Every view shows them, and none judges again."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.state import SUBJECTS, Evidence, State, StateNow
from fss_exporter.samples import Samples

OF_ADDRESSES: Final = "fss_client_address_state"
"""Metric of the state of an address on a host. The names of its age and its evidence begin with it."""

_STATES: Final = {float(state): state for state in State}


def states_of_addresses(samples: Samples) -> dict[str, StateNow]:
    """Return the states on a host's page by address."""
    reasons: Mapping[str, list[Evidence]] = defaultdict(list)
    for labels, ratio in samples.all(f"{OF_ADDRESSES}_evidence_ratio"):
        if evidence := _evidence(labels, ratio):
            reasons[labels["address"]].append(evidence)
    ages = samples.by(f"{OF_ADDRESSES}_age_seconds", "address")
    return {
        address: StateNow(_STATES.get(value, State.NOT_KNOWN), ages.get((address,)), tuple(reasons[address]))
        for (address,), value in samples.by(OF_ADDRESSES, "address").items()
    }


def _evidence(labels: Mapping[str, str], ratio: float) -> Evidence | None:
    """Return the evidence of a series. None for a subject or a state that this version does not know."""
    subject = SUBJECTS.get(labels["subject"])
    limit = next((limit for limit, state in subject.limits if state.word == labels["state"]), None) if subject else None
    if subject is None or limit is None:
        return None
    return Evidence(subject, KnownFigure(ratio * limit, FigureSource.HOST), labels["detail"])
