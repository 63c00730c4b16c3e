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
    return _states_by(samples, OF_ADDRESSES, "address")


def _states_by(samples: Samples, name: str, label: str) -> dict[str, StateNow]:
    reasons: Mapping[str, list[Evidence]] = defaultdict(list)
    for labels, ratio in samples.all(f"{name}_evidence_ratio"):
        if evidence := _evidence(labels, ratio):
            reasons[labels[label]].append(evidence)
    ages = samples.by(f"{name}_age_seconds", label)
    return {
        key: StateNow(_STATES.get(value, State.NOT_KNOWN), ages.get((key,)), tuple(reasons[key]))
        for (key,), value in samples.by(name, label).items()
    }


OF_MOUNT_TARGETS: Final = "fss_mount_target_state"
"""The same of mount targets, as a poller judges them by what OCI says."""


def states_of_mount_targets(samples: Samples) -> dict[str, StateNow]:
    """Return the states on a poller's page by OCID of the mount target."""
    return _states_by(samples, OF_MOUNT_TARGETS, "mount_target_id")


def _evidence(labels: Mapping[str, str], ratio: float) -> Evidence | None:
    """Return the evidence of a series. None for a subject or a state that this version does not know."""
    subject = SUBJECTS.get(labels["subject"])
    limit = next((limit for limit, state in subject.limits if state.word == labels["state"]), None) if subject else None
    if subject is None or limit is None:
        return None
    return Evidence(
        subject, KnownFigure(ratio * limit, FigureSource.HOST), labels["detail"], labels.get("file_system", "")
    )
