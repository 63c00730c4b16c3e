"""From the control group of a thread to the pod or the systemd unit. Pure: text in, names out.

Pods, by cgroup driver of the kubelet: systemd has `kubepods-burstable-pod<uid>.slice` with `_` for `-` in the uid, cgroupfs has
`/kubepods/burstable/pod<uid>`. The uid of a static pod is a hash without dashes. Runtimes only add a container below.

A reader in a control group namespace of its own sees paths from its own group, such as `/../../pod<uid>`.

Users make control groups of any name below `user.slice`, and a service below its own. So nothing inside of a user's slice
counts, and of a path the first unit counts, which systemd itself has made.
"""

import re
from typing import Final, NamedTuple

_POD: Final = re.compile(
    r"(?:kubepods[^:]*?[/-]|^(?:/\.\.)+/(?:burstable/|besteffort/)?)pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice|[/:]|$)"
)
_USER: Final = re.compile(r"/user\.slice/(user-\d+\.slice)")
_UNIT: Final = re.compile(r"/([^/]+\.(?:service|scope))(?=/|$)")
_CONTAINER: Final = re.compile(r"/([^/]+/[0-9a-f]{64})(?=/|$)")
_LONG_ID: Final = re.compile(r"([0-9a-f]{12})[0-9a-f]{52}")
_NUMBERS: Final = re.compile(r"[0-9]+")
_TRANSIENT: Final = re.compile(r"run-[^/]+\.service")
_SYSTEMD: Final = "name=systemd"


class Group(NamedTuple):
    """The pod or unit of a control group."""

    pod_uid: str = ""  # of the Kubernetes pod, with dashes; empty outside of pods
    unit: str = ""  # systemd unit, slice of a user, or container; empty in pods and for the kernel's threads


NO_GROUP: Final = Group()


def group_of(text: str) -> Group:
    """Return the group in a `/proc/PID/cgroup` file, of cgroup v1 or v2."""
    paths = dict(_paths(text))
    for path in paths.values():
        pod = None if "/user.slice/" in path else _POD.search(path)
        if pod is not None:
            return Group(pod_uid=pod[1].replace("_", "-"))
    path = paths.get(_SYSTEMD) or paths.get("", "")
    return Group(unit=_unit(path))


def _paths(text: str) -> list[tuple[str, str]]:
    """Controllers and path of each line: `HIERARCHY:CONTROLLERS:PATH`."""
    parts = [line.split(":", 2) for line in text.splitlines()]
    return [(one[1], one[2]) for one in parts if len(one) == 3]


def _unit(path: str) -> str:
    """Return the unit of a path, with `*` in place of a number that belongs to a single run."""
    if user := _USER.search(path):
        return user[1]
    if unit := _UNIT.search(path):
        return _without_numbers(unit[1])
    container = _CONTAINER.search(path)
    return "" if container is None else _LONG_ID.sub(r"\1", container[1])


def _without_numbers(unit: str) -> str:
    short = _LONG_ID.sub(r"\1", unit)
    if short != unit:
        return short
    if _TRANSIENT.fullmatch(unit):
        return "run-*.service"
    return _NUMBERS.sub("*", unit) if unit.endswith(".scope") else unit
