# SPDX-License-Identifier: Apache-2.0
"""The answer of `plan` in sentences."""

from collections.abc import Iterator

from fss_exporter.model.limits import SHAPES
from fss_toolbox import printed
from fss_toolbox.plan.scenario import Scenario
from fss_toolbox.sizing import capacity
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, IOPS, NO_SHAPE, uses

NO_CACHE = (
    "a mount target does not cache files that other mount targets export too. Serial, latency-bound work gets slower."
    " Spread the clients evenly"
)
PARALLEL_TOOLS = (
    "latency binds: run more requests at a time, with parallel tools (partar for tar, parcp for cp, parrm for rm) or"
    " more processes. More mount targets do not help"
)


def sentences(scenario: Scenario) -> Iterator[str]:
    """Return the answer for one scenario, a sentence for each part."""
    answer = scenario.answer()
    if scenario.load.is_job:
        yield from _job(scenario, answer)
    else:
        yield from _rate(scenario, answer)
    yield from _observed(scenario)
    yield from _both_directions(scenario, answer)
    yield from _connections(scenario, answer)
    yield from _latency(scenario, answer)
    locks = scenario.load.traffic.lock_iops
    if locks:
        yield f"not included: about {printed.number(locks)} IOPS of locks (estimated)"


def _rate(scenario: Scenario, answer: capacity.CapacityAnswer) -> Iterator[str]:
    if answer.binds is None:
        yield f"binds first: nothing, because {_why_nothing(scenario)}"
    else:
        yield f"binds first: {answer.binds.resource}, at {printed.percent(answer.binds.ratio)}"
    if answer.best is not None:
        judged = "" if is_judged_by_all(answer) else " and by the known ceilings"
        yield f"at this mix{judged}, one mount target serves at most {_most_text(scenario, answer.best)}"
    yield from _mount_targets(scenario, answer)
    if answer.client_bound and answer.attainable is not None:
        yield f"more mount targets do not help the clients. The clients get {_most_text(scenario, answer.attainable)}"
    in_flight = scenario.load.traffic.all_operations.execute_seconds
    if in_flight:
        yield f"in flight on average (Little's law): {printed.number(in_flight)} requests"


def _observed(scenario: Scenario) -> Iterator[str]:
    """Yield a sentence for each ceiling that a poller observed, beside the one that the answer is computed with."""
    if scenario.load.observed is None:
        return
    for use in uses(scenario.load.traffic, scenario.load.observed):
        if use.limit is not None:
            stated = next(
                of.limit for of in uses(scenario.load.traffic, scenario.limits) if of.resource == use.resource
            )
            with_limit = "no ceiling" if stated is None else printed.amount(stated, use.unit)
            observed = printed.amount(use.limit, use.unit)
            yield f"observed ceiling of {use.resource}: {observed}, where the load stood still. Computed with {with_limit}"


def _why_nothing(scenario: Scenario) -> str:
    traffic = scenario.load.traffic
    if scenario.shape == NO_SHAPE:
        return "--shape none has no ceiling and no cost table, so nothing is judged"
    if traffic.payload or (traffic.iops and traffic.iops.point):
        return "no ceiling that this load uses is published or given, so nothing is judged"
    if traffic.iops is None and (traffic.all_operations.operations or not scenario.load.is_split):
        return "the cost of the load is not known, so nothing is judged"
    return "the load is 0"


def _mount_targets(scenario: Scenario, answer: capacity.CapacityAnswer) -> Iterator[str]:
    needed, worst, given = answer.mount_targets, answer.mount_targets_at_worst, scenario.mount_targets
    if needed is None:
        return
    more = f" ({worst} if the upper bound is right)" if worst is not None and worst > needed else ""
    is_judged = is_judged_by_all(answer)
    share = printed.percent(scenario.target)
    yield f"mount targets for at most {share} of every ceiling{'' if is_judged else ' that is known'}: {needed}{more}"
    if given is not None:
        enough = f"enough{'' if is_judged else ' for the known ceilings'}"
        yield f"{given} given: {enough if given >= needed else f'{needed - given} too few'}"
    unpublished = ", ".join(use.resource for use in answer.mount_target if use.limit is None)
    if unpublished:
        yield f"not judged, because no document states a ceiling: {unpublished}"
    elif not is_judged:
        yield f"not judged, because the cost of the load is not known: {IOPS}"
    count = max(needed, given or 1)
    if count > 1:
        yield f"scaling out costs: {NO_CACHE}"
    allowed = SHAPES[scenario.shape].default_service_limit if scenario.shape in SHAPES else None
    if allowed is not None and count > allowed:
        yield (
            f"{count} mount target{'s' if count > 1 else ''}: the service limit of shape {scenario.shape} is {allowed} in each"
            " availability domain by default. Request a higher limit of File Storage first"
        )


def _both_directions(scenario: Scenario, answer: capacity.CapacityAnswer) -> Iterator[str]:
    use, time = answer.both_directions, answer.job
    share = use.ratio or 0.0 if use else 0.0
    if use is None or share <= (time.seconds if time else scenario.target):
        return
    needed = capacity.pieces_for(share * (scenario.mount_targets or 1), scenario.target)
    shares = f"{printed.amount(use.demand, 'B/s')} are {printed.percent(share)} of {printed.amount(use.limit, 'B/s')}. "
    then = f"the job takes {printed.duration(share)}" if time else f"{needed} mount targets are needed"
    yield (
        f"{BOTH_DIRECTIONS}: {'' if time else shares}The"
        " white paper prints one bandwidth and measured one direction at a time. This project assumes the whole bandwidth for each"
        f" direction. If both directions share the bandwidth, {then}"
    )


def _connections(scenario: Scenario, answer: capacity.CapacityAnswer) -> Iterator[str]:
    clients = scenario.clients
    for use in answer.mount_target:
        if use.resource not in capacity.CONNECTION_BOUNDS or use.limit is None or clients.connections is None:
            continue
        if use.resource == "connections" and clients.nconnect == 1 and (use.ratio or 0) < scenario.target:
            continue
        is_encrypted = use.resource == capacity.ENCRYPTED_CONNECTIONS
        paper = "64 clients with TLS" if is_encrypted else "100,000 clients"
        windows = "; Windows with stunnel: 64 connections" if is_encrypted else ""
        source = f"the white paper states {paper}, the service's metric counts connections{windows}"
        if is_encrypted and clients.stunnel:
            source = "the documentation states 64 for Windows with stunnel"
        several, such = "", ""
        if clients.nconnect > 1:
            several = f"{clients.count:,} clients x nconnect {clients.nconnect} = "
            such = f", so {use.limit // clients.nconnect:,.0f} such clients"
        yield (
            f"{use.resource}: {several}{clients.connections:,.0f}. One mount target takes {use.limit:,.0f}{such}"
            f" ({source})"
        )


def _latency(scenario: Scenario, answer: capacity.CapacityAnswer) -> Iterator[str]:
    if answer.binds is not None and answer.binds.resource == capacity.LATENCY:
        yield PARALLEL_TOOLS
    rtt = scenario.clients.network_rtt_seconds
    if rtt and (far := capacity.distance(rtt)):
        yield (
            f"a round trip of {printed.milliseconds(rtt)} ms is {far.where}: one request at a time completes at most"
            f" {printed.number(1 / rtt)} a second. White paper: {far.advice}"
        )


def _job(scenario: Scenario, answer: capacity.CapacityAnswer) -> Iterator[str]:
    time = answer.job
    if time is None:
        yield "time: not known, because no ceiling, no latency and no network of the clients is known"
        return
    iops = scenario.load.traffic.iops
    rates = (
        f"{printed.number(time.operations_per_second)} operations/s" if time.operations else "",
        f"{printed.number(iops.point / time.seconds)} IOPS" if iops else "",
    )
    means = ", ".join(filter(None, rates))
    yield f"time: {printed.duration(time.seconds)}, set by {time.binds.resource}{f': {means} on average' if means else ''}"


def differences(before: Scenario, after: Scenario) -> list[str]:
    """Return the changed figures."""
    was, now = before.answer(), after.answer()
    old = {use.resource: use for use in (*was.mount_target, *was.clients)}
    lines = []
    for use in (*now.mount_target, *now.clients):
        earlier = old.get(use.resource)
        if earlier is None or (earlier.demand, earlier.limit) != (use.demand, use.limit):
            then = "" if earlier is None else f"{printed.percent(earlier.ratio)} to "
            lines.append(
                f"{use.resource}: {then}{printed.percent(use.ratio)} "
                f"({printed.amount(use.demand, use.unit)} of {printed.amount(use.limit, use.unit)})"
            )
    if before.load.is_job:
        lines = _time_difference(was.job, now.job)
    else:
        lines += _changed_results(was, now)
    if not lines:
        missing = (
            ""
            if was.clients or before.clients == after.clients
            else ". Give --clients with --network-rtt or --latency to let it matter"
        )
        return [f"nothing changes{missing}"]
    return lines


def _time_difference(was: capacity.JobTime | None, now: capacity.JobTime | None) -> list[str]:
    if now is None or (was is not None and (was.seconds, was.binds.resource) == (now.seconds, now.binds.resource)):
        return []
    earlier = printed.duration(was.seconds) if was else "unknown"
    return [f"time: {earlier} to {printed.duration(now.seconds)}, set by {now.binds.resource}"]


def _changed_results(before: capacity.CapacityAnswer, after: capacity.CapacityAnswer) -> list[str]:
    lines = []
    names = tuple(answer.binds.resource if answer.binds else "nothing known" for answer in (before, after))
    if names[0] != names[1]:
        lines.append(f"binds first: {names[1]} in place of {names[0]}")
    if before.mount_targets != after.mount_targets:
        was, now = ("unknown" if answer.mount_targets is None else answer.mount_targets for answer in (before, after))
        lines.append(f"mount targets: {now} in place of {was}")
    return lines


def _most_text(scenario: Scenario, times: float) -> str:
    traffic = scenario.load.traffic
    every = traffic.all_operations
    parts = (
        f"{printed.number(every.operations * times)} operations/s" if every.operations else "",
        f"{printed.number(every.iops.point * times)} IOPS" if every.iops else "",
        f"{printed.megabytes(traffic.read_bytes * times)} MB/s read",
        f"{printed.megabytes(traffic.written_bytes * times)} MB/s written",
    )
    return ", ".join(filter(None, parts))


def is_judged_by_all(answer: capacity.CapacityAnswer) -> bool:
    """Whether every ceiling of the mount target is known, and the cost of the load."""
    return all(
        use.limit is not None and (use.demand is not None or use.resource != IOPS) for use in answer.mount_target
    )
