# SPDX-License-Identifier: Apache-2.0
"""The states that an exporter serves with its metrics. Every view shows them, and none judges again."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from fss_exporter.addresses import mount_targets_of_host
from fss_exporter.model.knowledge import FigureSource
from fss_exporter.model.state import NOT_KNOWN, SUBJECTS, SUBJECTS_OF_HOSTS, WAIT, Evidence, State, StateNow
from fss_exporter.samples import Samples
from fss_exporter.served_ceilings import SOURCES

# Metric of the state of an address on a host. The names of its age and its evidence begin with it.
OF_ADDRESSES: Final = "fss_client_address_state"

# What a page without the agents of the clients cannot tell.
SEES_NO_HANG: Final = "OCI counts no request without a reply, so a hang looks like an idle mount target here. Agents on the clients see it"

_STATES: Final = {float(state): state for state in State}
_WORDS: Final = {state.word: state for state in State}


def states_of_addresses(samples: Samples) -> dict[str, StateNow]:
    """Return the states on a host's page by address. A host does not know a state only while a request may wait."""
    states = _states_by(samples, OF_ADDRESSES, "address", FigureSource.HOST)
    return {
        address: replace(now, reasons=(Evidence(WAIT, None),)) if now.state is State.NOT_KNOWN else now
        for address, now in states.items()
    }


def _states_by(samples: Samples, name: str, label: str, source: FigureSource) -> dict[str, StateNow]:
    reasons: Mapping[str, list[Evidence]] = defaultdict(list)
    for labels, ratio in samples.all(f"{name}_evidence_ratio"):
        if evidence := evidence_of(labels, ratio, source):
            reasons[labels[label]].append(evidence)
    ages = samples.by(f"{name}_age_seconds", label)
    return {
        key: StateNow(_STATES.get(value, State.NOT_KNOWN), ages.get((key,)), tuple(reasons[key]))
        for (key,), value in samples.by(name, label).items()
    }


# The same of mount targets, as a poller judges them by what OCI says.
OF_MOUNT_TARGETS: Final = "fss_mount_target_state"


def states_of_mount_targets(samples: Samples) -> dict[str, StateNow]:
    """Return the states on a poller's page by OCID of the mount target, as OCI alone tells them."""
    states = _states_by(samples, OF_MOUNT_TARGETS, "mount_target_id", FigureSource.MEASURED)
    return {target: replace(now, judge="OCI") for target, now in states.items()}


def states_at_a_host(samples: Samples, own: Mapping[str, StateNow]) -> dict[str, StateNow]:
    """Return the states on a page by OCID of the mount target: the worse of what OCI says and of what this host feels.

    `own` are the states of addresses on this host.
    """
    states = states_of_mount_targets(samples)
    for address, labels in mount_targets_of_host(samples).items():
        target = labels["mount_target_id"]
        here = own.get(address)
        if here is not None:
            states[target] = worse(states.get(target, NOT_KNOWN), of_this_host(here))
    return states


def of_this_host(now: StateNow) -> StateNow:
    """Return the state of an address with this host as the client that feels it."""
    return replace(now, reasons=tuple(replace(reason, who="this host") for reason in now.reasons))


def worse(one: StateNow, other: StateNow) -> StateNow:
    """Return the worse of two states of one mount target. Of equal states the first is told."""
    return max(one, other, key=lambda now: now.state)


def evidence_of(labels: Mapping[str, str], ratio: float, source: FigureSource, who: str = "") -> Evidence | None:
    """Return the evidence of a series. None for a subject or a state that this version does not know.

    The client comes from `who`, or else the file system from the labels. A label `source` says how the figure is known, else `source` does.
    """
    subjects = SUBJECTS_OF_HOSTS if source is FigureSource.HOST else SUBJECTS
    subject, state = subjects.get(labels["subject"]), _WORDS.get(labels["state"])
    whole = subject.whole_of(state) if subject and state is not None else None
    if subject is None or whole is None:
        return None
    return Evidence(
        subject,
        subject.figure(ratio * whole, SOURCES.get(labels.get("source", ""), source)),
        labels.get("detail", ""),
        who or labels.get("file_system", ""),
        judged_before=state,
    )
