# SPDX-License-Identifier: Apache-2.0
"""The states of mount targets that the rules record from poller and agents, with their reasons."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Final

from fss_exporter.addresses import NetworkAddress
from fss_exporter.model.knowledge import FigureSource
from fss_exporter.model.state import CLIENT_CEILINGS, NOT_KNOWN, Evidence, State, StateNow
from fss_exporter.model.thresholds import CRITICAL_RATIO
from fss_exporter.served_states import OF_ADDRESSES, OF_MOUNT_TARGETS, evidence_of

# Recorded series of the worse of what OCI says of a mount target, and of what its clients feel.
JOINED: Final = "mount_target:fss_state:max"

OF_CLIENTS: Final = "address:fss_client_state:max"  # recorded series of the state of an address by its clients

# Recorded series of the same, with the ceilings that the configuration of the agents states. It is never fine.
OF_ADDRESSES_JOINED: Final = "address:fss_state:max"

# Asks a Prometheus for a query, and returns the values by these labels.
Ask = Callable[..., Mapping[tuple[str, ...], float]]

_EVIDENCE = ("state", "subject", "detail")
_CLIENTS_EVIDENCE: Final = (
    "topk by (network, address, state) (1, max by (network, address, state, instance, subject, detail)"
    f" ({OF_ADDRESSES}_evidence_ratio))"
)
_SLOW_OR_WORSE: Final = f"max by (network, instance, address) ({OF_ADDRESSES}) >= {State.SLOW:d}"
_CLIENTS_AGE: Final = (
    f"max by (network, address) (max by (network, instance, address) ({OF_ADDRESSES}_age_seconds)"
    f" and on (network, instance, address) ({_SLOW_OR_WORSE}))"
)
_SHARE: Final = "address_resource:fss_client_utilisation:ratio"
_SHARES: Final = (
    f'max by (network, address, resource) ({_SHARE}{{resource!="peak_iops"}}'
    f' or {_SHARE}{{resource="peak_iops"}} >= {CRITICAL_RATIO:g})'
)


class FleetStates:
    """The states of one moment.

    Attributes:
        are_recorded: whether the rules record states.
        addresses: the state of each address by its clients, by network and address.
    """

    def __init__(self, ask: Ask) -> None:
        place = ("network", "address")
        joined = ask(f"max by (mount_target_id) ({JOINED})", "mount_target_id")
        by_clients = ask(f"max by (network, address) ({OF_CLIENTS})", *place)
        self.are_recorded = bool(joined or by_clients)
        self._joined = {target: State(int(value)) for (target,), value in joined.items()}
        ages = ask(_CLIENTS_AGE, *place)
        numbers = {key: int(number) for key, number in ask("address_state:fss_clients:count", *place, "state").items()}
        reasons: dict[tuple[str, ...], list[Evidence]] = defaultdict(list)
        for (network, address, instance, *of), ratio in ask(_CLIENTS_EVIDENCE, *place, "instance", *_EVIDENCE).items():
            labels = dict(zip(_EVIDENCE, of, strict=True))
            others = numbers.get((network, address, labels["state"]), 1) - 1
            who = f"{instance} and {others} other client{'s' * (others > 1)}" if others > 0 else instance
            if evidence := evidence_of(labels, ratio, FigureSource.CLIENTS, who):
                reasons[network, address, labels["state"]].append(evidence)
        self._reasons = reasons
        self._clients = {
            key: _now(State(int(value)), ages.get(key), reasons[(*key, State(int(value)).word)])
            for key, value in by_clients.items()
        }
        self.addresses = self._of_addresses(ask)
        self._oci = dict(_of_oci(ask))

    def of(self, target: str, places: Iterable[NetworkAddress]) -> StateNow:
        """Return the state of a mount target (OCID, empty for an address that only clients know) at its places.

        Reason and length are those of the side that gives the state. If both do they are of OCI, with the clients that agree.
        """
        if not target:
            return next((self.addresses[place] for place in places if place in self.addresses), NOT_KNOWN)
        state = self._joined.get(target)
        if state is None:
            return NOT_KNOWN
        by_clients = (self._clients[place] for place in places if place in self._clients)
        worst = max(by_clients, key=lambda now: now.state, default=None)
        agreeing = [now for now in (self._oci.get(target), worst) if now and now.state is state]
        return _with_clients(*agreeing) if len(agreeing) == 2 else next(iter(agreeing), StateNow(state))

    def worst_clients(self, places: Iterable[NetworkAddress], than: State) -> tuple[State, Evidence] | None:
        """Return the worst state of single clients at some places, with its reason. None unless it is slow or worse, and worse than this."""
        for state, place in product((State.HANGING, State.FAILING, State.SLOW), places):
            if state > than and (reasons := self._reasons.get((*place, state.word))):
                return state, reasons[0]
        return None

    def _of_addresses(self, ask: Ask) -> Mapping[tuple[str, ...], StateNow]:
        place = ("network", "address")
        fullest: dict[tuple[str, ...], tuple[float, str]] = {}
        for (*of, resource), share in ask(_SHARES, *place, "resource").items():
            fullest[tuple(of)] = max((share, resource), fullest.get(tuple(of), (0.0, "")))
        states = {}
        for key, value in ask(f"max by (network, address) ({OF_ADDRESSES_JOINED})", *place).items():
            state = State(int(value))
            by_clients = self._clients.get(key)
            if by_clients and by_clients.state is state:
                states[key] = by_clients
            elif state is State.NEAR and key in fullest:
                states[key] = StateNow(state, reasons=(_near(*fullest[key]),))
            else:
                states[key] = StateNow(state)
        return states


def _with_clients(oci: StateNow, clients: StateNow) -> StateNow:
    """Return the state that OCI tells, with the clients that feel the same behind what OCI names."""
    if not (oci.reasons and clients.reasons):
        return oci
    first, *others = oci.reasons
    who = ", ".join(filter(None, (first.who, clients.reasons[0].who)))
    return replace(oci, reasons=(replace(first, who=who), *others))


def _near(share: float, resource: str) -> Evidence:
    """Return the evidence that the scraped clients of an address bring it near a ceiling of their configuration."""
    subject = CLIENT_CEILINGS[resource]
    return Evidence(subject, subject.figure(share, FigureSource.CLIENTS), judged_before=State.NEAR)


def _of_oci(ask: Ask) -> Mapping[str, StateNow]:
    label = "mount_target_id"
    reasons: dict[str, list[tuple[float, Evidence]]] = defaultdict(list)
    names = (*_EVIDENCE, "file_system", "source")
    evidence = f"max by ({label}, {', '.join(names)}) ({OF_MOUNT_TARGETS}_evidence_ratio)"
    for (target, *of), ratio in ask(evidence, label, *names).items():
        labels = dict(zip(names, of, strict=True))
        if one := evidence_of(labels, ratio, FigureSource.MEASURED):
            reasons[target].append((ratio, one))
    ages = ask(f"max by ({label}) ({OF_MOUNT_TARGETS}_age_seconds)", label)
    return {
        target: _now(
            State(int(value)),
            ages.get((target,)),
            [one for _, one in sorted(reasons[target], key=lambda of: -of[0]) if one.state is State(int(value))],
        )
        for (target,), value in ask(f"max by ({label}) ({OF_MOUNT_TARGETS})", label).items()
    }


def _now(state: State, seconds: float | None, reasons: list[Evidence]) -> StateNow:
    return StateNow(state, seconds, tuple(reasons) if state is not State.FINE else ())
