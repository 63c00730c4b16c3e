# SPDX-License-Identifier: Apache-2.0
"""Check the exporter on this host by `/metrics` and `/-/healthy`."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Final
from urllib.error import URLError
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from fss_exporter import DEFAULT_PORT, RUNBOOK
from fss_exporter.addresses import UNKNOWN_NETWORK
from fss_exporter.errors import SourceError
from fss_exporter.samples import Samples
from fss_exporter.web.status.overview import failed_calls, sees_less, starting_collectors
from fss_toolbox.doctor.ceiling_checks import check_ceilings
from fss_toolbox.doctor.findings import Finding, finding_of
from fss_toolbox.doctor.left_out import check_left_out
from fss_toolbox.doctor.state_checks import check_states
from fss_toolbox.fetch import OPEN, Access, get, runbook_at, shown
from fss_toolbox.scrape_text import is_foreign

METRICS_URL = f"http://127.0.0.1:{DEFAULT_PORT}/metrics"

# Nearly the whole page of a poller. A fleet of 5,000 mount targets would take half a minute to parse, and 2 GiB.
_CHECKED: Final = "_info|_state|_observed|_iops_limit|_(?:read|write)_bytes_per_second_limit"
_NOT_CHECKED: Final = re.compile(rf"(?m)^fss_(?:export|file_system|mount_target(?!{_CHECKED}))_.*\n")

_SUCCESS = "fss_collector_success"
_STARTING = "fss_collector_starting"
_LAST = "fss_collector_last_success_timestamp_seconds"
_ERRORS = "fss_collector_errors_total"
_EXACT = {
    "sizes in exact mode": ("fss_nfs_exact_active", "fss_nfs_exact_checks_failed_total"),
    "durations in exact mode": ("fss_nfs_latency_active", "fss_nfs_latency_checks_failed_total"),
}


def check_running(
    url: str, access: Access = OPEN, *, is_named: bool = False, keep: Callable[[Samples], object] = lambda _: None
) -> Iterator[Finding]:
    """Yield a finding for each background loop of the exporter at a URL, or a single finding without an answer.

    Where nobody named the URL, an exporter may listen elsewhere or not be there, so a port without an answer is no warning.
    `keep` takes the samples of a page that all checks could read.
    """
    subject = shown(url)
    try:
        text = get(url, "text/plain", access)
        samples = _samples(text)
    except SourceError as error:
        is_absent = _is_not_connected(error) and not is_named
        yield finding_of("exporter.absent" if is_absent else "exporter.silent", subject, error=error)
        return
    except (ValueError, IndexError):  # the parser raises both
        yield finding_of("exporter.foreign", subject)
        return
    if text and not text.endswith("\n"):
        # The format ends every line. A figure that is cut off is another figure.
        yield finding_of("exporter.silent", subject, error="the answer is cut off in the last line")
        return
    if samples.not_finite:
        yield finding_of("exporter.not-finite", subject, count=samples.not_finite)
        samples = samples.finite()
    if not samples.by(_SUCCESS) and not samples.by(_STARTING):
        yield finding_of("exporter.no-loop", subject)
    try:
        yield from check_samples(samples, runbook_at(url))
        keep(samples)
    except LookupError as unknown:
        yield finding_of("exporter.other-version", subject, error=unknown)
    healthy = urlsplit(url)._replace(path="/-/healthy", query="").geturl()
    try:
        get(healthy, "*/*", access)
    except SourceError as error:
        yield finding_of("exporter.unhealthy", shown(healthy), error=error)


def _samples(text: str) -> Samples:
    if is_foreign(text):
        raise ValueError("the page of another exporter")
    return Samples(text_string_to_metric_families(_NOT_CHECKED.sub("", text)))


def check_samples(samples: Samples, runbook: str = RUNBOOK) -> Iterator[Finding]:
    """Yield the findings on the metrics of an exporter, with links to the runbook that it serves."""
    loops = samples.by(_SUCCESS, "collector")
    last, errors = samples.by(_LAST, "collector"), samples.by(_ERRORS, "collector")
    for (name,), success in sorted(loops.items()):
        since = time.time() - last.get((name,), 0.0)
        when = f"last success {max(0.0, since):.0f} s ago" if last.get((name,)) else "no success yet"
        kind = "exporter.loop" if success >= 1 else "exporter.failed-loop"
        yield finding_of(kind, name, when=when, errors=errors.get((name,), 0.0))
    starting = starting_collectors(samples)
    for name in sorted(starting):
        yield finding_of("exporter.starting-loop", name)
    for (name,) in sorted(errors.keys() - loops.keys() - {(name,) for name in starting}):
        if name.partition("/")[0] == "oci_publish":
            yield finding_of("exporter.publishes-nothing", name)
    if samples.by("fss_oci_leader").get(()) == 0:
        yield finding_of("exporter.stands-by", "oci")
    for call in failed_calls(samples, lambda _, region: region):
        yield finding_of("exporter.failed-calls", "oci", call=call.removesuffix("."))
    yield from check_states(samples, runbook)
    yield from check_ceilings(samples)
    yield from _coverage(samples)
    yield from _network(samples)
    yield from _parts(samples)
    yield from _exact_mode(samples)


def _is_not_connected(error: SourceError) -> bool:
    """Return whether no connection was made. Some kernels answer a port without a server with a reset, not a refusal."""
    cause = error.__cause__
    return isinstance(cause, URLError) and isinstance(cause.reason, ConnectionRefusedError | ConnectionResetError)


def _coverage(samples: Samples) -> Iterator[Finding]:
    """Yield a finding for each part of which the exporter sees less than it should, or one for all parts together."""
    less = sees_less(samples)
    for (_, region, part), (seen, expected) in less.items():
        if part == "mount_namespace":
            yield finding_of("exporter.other-namespace")
            continue
        if part == "ledger":
            yield finding_of("exporter.refused-ledger", region)
            continue
        kind = "exporter.sees-fewer-mounts" if part == "mounts" else "exporter.sees-less"
        yield finding_of(kind, region, seen=seen, expected=expected, part=part)
    parts = {part for (part,) in samples.by("fss_coverage_expected", "part")}
    if parts and not less and not starting_collectors(samples):
        yield finding_of("exporter.sees-all", parts=", ".join(sorted(parts)))
    for (region,), calls in sorted(samples.by("fss_oci_inventory_calls", "region").items()):
        yield finding_of("exporter.inventory-calls", region, calls=calls)
    yield from check_left_out(samples)


def _network(samples: Samples) -> Iterator[Finding]:
    """Yield a finding for the network of the agent's mounts. None for a host without mounts."""
    for (name,) in samples.by("fss_client_address_requests_total", "network"):
        if name == UNKNOWN_NETWORK:
            yield finding_of("exporter.unknown-network")
        else:
            yield finding_of("exporter.network", name=name)


def _parts(samples: Samples) -> Iterator[Finding]:
    """Yield a finding for each part of the load by process that counts nothing."""
    failures = samples.by("fss_nfs_process_part_failures_total", "part", "reason")
    for (part,), active in samples.by("fss_nfs_process_part_active", "part").items():
        if not active:
            why = ", ".join(reason for failed, reason in failures if failed == part) or "no reason yet"
            yield finding_of("exporter.idle-part", part, why=why)


def _exact_mode(samples: Samples) -> Iterator[Finding]:
    """Yield a finding for each table of exact mode that counts nothing or has left out intervals."""
    for subject, (metric, failures) in _EXACT.items():
        failed = sorted(samples.by(failures, "check").items())
        checks = ", ".join(f"{check} {count:.0f}" for (check,), count in failed if count)
        active = samples.by(metric).get(())
        if active == 0:
            why = checks or "no check has failed, and no NFS mount may be there yet"
            yield finding_of("exporter.idle-table", subject, why=why)
        elif active is not None and checks:
            yield finding_of("exporter.left-out", subject, checks=checks)
