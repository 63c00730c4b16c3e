# SPDX-License-Identifier: Apache-2.0
"""The states of mount targets and addresses as findings. The exporter judges. Where no agent of this host does, doctor looks for hangs."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from fss_exporter import RUNBOOK
from fss_exporter.errors import SourceError
from fss_exporter.model.client_state import AddressWork, Wait, judge_client
from fss_exporter.model.state import State, StateNow
from fss_exporter.model.thresholds import LEAST_WAIT_SECONDS
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.nfs.unanswered import Unanswered
from fss_exporter.samples import Samples
from fss_exporter.served_states import OF_ADDRESSES, OF_MOUNT_TARGETS, states_of_addresses, states_of_mount_targets
from fss_exporter.terminal_text import first_names
from fss_toolbox.doctor.findings import Finding, finding_of
from fss_toolbox.printed_states import sentence

_KINDS: Final = {
    State.NOT_KNOWN: "state.not-known",
    State.NEAR: "state.near",
    State.SLOW: "state.slow",
    State.FAILING: "state.failing",
    State.HANGING: "state.hanging",
}
_MOST_NAMES: Final = 5
_TICK_SECONDS: Final = 1.0


def check_states(samples: Samples, runbook: str = RUNBOOK) -> Iterator[Finding]:
    """Yield a finding for each state on the page of an exporter that is not fine, the worst first, and one for each word of those without trouble."""
    addresses = states_of_addresses(samples)
    states = {**_of_mount_targets(samples), **addresses}
    fine: dict[str, list[str]] = {}
    for name, now in sorted(states.items(), key=lambda of: (-of[1].state, of[0])):
        if now.state is not State.FINE:
            yield _finding(name, now, runbook)
        else:  # an address of the exporter can be fine while the mount target behind it fails others
            fine.setdefault(f"{now.word} for its own mounts" if name in addresses else now.word, []).append(name)
    for word, names in sorted(fine.items()):
        yield finding_of("state.fine", count=len(names), word=word, names=first_names(names, _MOST_NAMES))


def _of_mount_targets(samples: Samples) -> Mapping[str, StateNow]:
    """Return the states by name of the mount target, with region and tail of the OCID where names repeat."""
    labels = {of["mount_target_id"]: of for of, _ in samples.all(OF_MOUNT_TARGETS)}
    uses = Counter(of["mount_target"] for of in labels.values())

    def name(ocid: str) -> str:
        own = labels[ocid]["mount_target"]
        return own if uses[own] == 1 else f"{own} in {labels[ocid]['region']} (...{ocid[-6:]})"

    return {name(ocid): now for ocid, now in states_of_mount_targets(samples).items()}


def _finding(subject: str, now: StateNow, runbook: str = RUNBOOK) -> Finding:
    section = f"{runbook}#{now.runbook}"
    text = sentence(now, runbook=runbook).removesuffix(f" ({section})")
    return finding_of(_KINDS[now.state], subject, state=text, runbook=section)


def addresses_judged(samples: Samples, boot_hash: str) -> frozenset[str]:
    """Return the addresses whose states the agent of this host serves on a page. The boot hash is that of this host's kernel."""
    if not boot_hash or (boot_hash,) not in samples.by("fss_nfs_superblocks", "boot_hash"):
        return frozenset()
    return frozenset(address for (address,) in samples.by(OF_ADDRESSES, "address"))


def check_waits(
    read: Callable[[], Reading],
    first: Reading | None,
    judged: Collection[str] = (),
    *,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Finding]:
    """Yield a finding for each address whose requests have no reply, or one that there is none. Leave out the addresses that an agent judges.

    Only if a request may have waited since before the `first` reading, doctor looks again, each second until a reply arrives. Silence
    is not known to be a hang, and not known to be fine.
    """
    if first is None or all(superblock.key.address in judged for superblock in first.superblocks):
        return
    unanswered = Unanswered()
    unanswered.add(first, clock())
    until = clock() + LEAST_WAIT_SECONDS + 2 * _TICK_SECONDS
    while (silent := _silent(unanswered, judged)) and clock() < until:
        pause(_TICK_SECONDS)
        try:
            reading = read()
        except SourceError as error:
            yield finding_of("mounts.unreadable", error=error)
            return
        unanswered.add(reading, clock())
    for address, wait in silent.items():
        judgement = judge_client(AddressWork(wait=wait), {}, has_defaults=False)
        if judgement.state is State.HANGING:
            yield _finding(address, StateNow(judgement.state, reasons=judgement.reasons))
        else:
            yield finding_of("state.silent", address, seconds=LEAST_WAIT_SECONDS)
    if not silent:
        yield finding_of("state.no-wait")


def _silent(unanswered: Unanswered, judged: Collection[str]) -> dict[str, Wait]:
    """Return the waits that may be hangs."""
    return {
        address: wait
        for address, wait in sorted(unanswered.waits().items())
        if address not in judged and (wait.seconds is None or wait.is_hang)
    }
