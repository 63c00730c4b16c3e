# SPDX-License-Identifier: Apache-2.0
"""Find pod, systemd unit and batch job in the path of a control group.

Users make control groups of any name below `user.slice`, and a service below its own. So nothing inside of a user's slice
counts, and of a path the first unit counts, which systemd itself has made. Paths of jobs count from the root only, or from the
container of a pod, which needs privileges to make control groups.
"""

import re
from typing import Final, NamedTuple

# Pods, by cgroup driver of the kubelet: systemd has `kubepods-burstable-pod<uid>.slice` with `_` for `-` in the uid, cgroupfs
# has `/kubepods/burstable/pod<uid>`. The uid of a static pod is a hash without dashes. Runtimes only add a container below.
# A reader in a control group namespace of its own sees paths from its own group, such as `/../../pod<uid>`.
_POD: Final = re.compile(
    r"(?:kubepods[^:]*?[/-]|^(?:/\.\.)+/(?:burstable/|besteffort/)?)pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice|[/:]|$)"
)
_USER: Final = re.compile(r"/user\.slice/(user-\d+\.slice)")
_UNIT: Final = re.compile(r"/([^/]+\.(?:service|scope))(?=/|$)")
_CONTAINER: Final = re.compile(r"/([^/]+/[0-9a-f]{64})(?=/|$)")
_LONG_ID: Final = re.compile(r"([0-9a-f]{12})[0-9a-f]{52}")
_DIGITS: Final = re.compile(r"[0-9]+")
_TRANSIENT: Final = re.compile(r"run-[^/]+\.service")
_SYSTEMD: Final = "name=systemd"


# Jobs, with the paths of cgroup v1 and v2 where they differ. A number in brackets is the element of a job array. A reader in a
# control group namespace of its own sees paths that begin with `/..`. Sources: Slurm's documentation of cgroup.conf (a scope has the
# name of the node where a node runs several slurmd) and of cgroup v2 (Slurm 26.05 names a job by its SLUID), the cgroups hook of OpenPBS,
# the cgroup exporter of treydock for PBS Pro and Torque, HTCondor's pull request 3341, and for LSF the tests of the exporter of CEEMS
# (pkg/collector/lsf_test.go), cgroup v1. For LSF with cgroup v2 no source was found.
_SLUID: Final = "s[0-9A-Z]{13}"
_JOB: Final = re.compile(
    r"(?:/\.\.)*/(?:"
    rf"(?:slurm(?:_[^/]+)?/uid_\d+|system\.slice/(?:[^/]+_)?slurmstepd\.scope)/(?:job_(?P<slurm>\d+)|(?P<sluid>{_SLUID}))"
    r"|(?:(?:pbs_jobs|pbspro|pbs)\.service/(?:jobid|jobs)/|(?:pbspro|torque)/|pbspro\.slice/pbspro-|lsf/[^/]+/job\.)"
    r"(?P<element>\d+(?:\[\d+\])?)"
    r"|(?:system\.slice/condor\.service/)?htcondor/condor_[^/]*_(?P<slot>slot\d+(?:_\d+)?)(?:@[^/]*)?"
    r")(?=[./]|$)"
)
_IN_POD: Final = re.compile(
    r"(?:\.slice)?(?::[^/]*)?(?:/(?:[^/]+\.scope|[0-9a-f]{64}))?(?=/)"
)  # the end of a pod's path
_ESCAPED_BRACKETS: Final = (("\\x5b", "["), ("\\x5d", "]"))  # by systemd in the name of a slice


class Group(NamedTuple):
    """The pod, unit and batch job of a control group."""

    pod_uid: str = ""  # UID of the Kubernetes pod, with dashes. Empty outside of pods
    unit: str = ""  # systemd unit, slice of a user, or container. Empty in pods and for the kernel's threads
    # number of the job of Slurm, PBS, Torque or LSF, without the name of the server, SLUID of Slurm 26.05, or slot of HTCondor
    job: str = ""


def group_of(text: str) -> Group:
    """Return the group in a `/proc/PID/cgroup` file, of cgroup v1 or v2."""
    # `HIERARCHY:CONTROLLERS:PATH`. A path has no newline, but can have every other line end of `splitlines`.
    parts = [line.split(":", 2) for line in text.split("\n")]
    paths = {fields[1]: fields[2] for fields in parts if len(fields) == 3}
    pods = [(path, match) for path in paths.values() if "/user.slice/" not in path and (match := _POD.search(path))]
    if pods:
        inside = (path[match.end(1) :] for path, match in pods)
        job = next(filter(None, (_job(_IN_POD.sub("", path, count=1)) for path in inside)), "")
        return Group(pod_uid=pods[0][1][1].replace("_", "-"), job=job)
    path = paths.get(_SYSTEMD) or paths.get("", "")
    return Group(unit=_unit(path), job=next(filter(None, map(_job, paths.values())), ""))


def _job(path: str) -> str:
    for escaped, bracket in _ESCAPED_BRACKETS:
        path = path.replace(escaped, bracket)
    job = _JOB.match(path)
    return "" if job is None else job[job.lastgroup or 0]


def is_sluid(job: str) -> bool:
    """Whether a job has Slurm's identity that is unique over clusters and restarts, in place of its number."""
    return re.fullmatch(_SLUID, job) is not None


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
    return _DIGITS.sub("*", unit) if unit.endswith(".scope") else unit
