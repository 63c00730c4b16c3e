"""Check the exporter on this host by `/metrics` and `/-/healthy`."""

import time
from collections.abc import Iterator
from urllib.error import URLError
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from fss_exporter import DEFAULT_PORT
from fss_exporter.doctor.findings import Finding, Severity
from fss_exporter.errors import SourceError
from fss_exporter.fetch import get

METRICS_URL = f"http://127.0.0.1:{DEFAULT_PORT}/metrics"

_SUCCESS = "fss_collector_success"
_LAST = "fss_collector_last_success_timestamp_seconds"
_ERRORS = "fss_collector_errors_total"
_PART, _PART_FAILURES = "fss_nfs_process_part_active", "fss_nfs_process_part_failures_total"
_EXACT = {
    "sizes in exact mode": ("fss_nfs_exact_active", "fss_nfs_exact_checks_failed_total"),
    "durations in exact mode": ("fss_nfs_latency_active", "fss_nfs_latency_checks_failed_total"),
}
_CHECK = "exporter"


def check_running(url: str) -> Iterator[Finding]:
    """Yield a finding for each background loop of the exporter at a URL, or a single finding without an answer."""
    try:
        text = get(url, "text/plain")
    except SourceError as error:
        yield _silent(url, error)
        return
    try:
        collectors, parts = _collectors(text), [*_parts(text), *_exact_mode(text)]
    except ValueError:
        fix = "give the URL of an exporter with --exporter-url, or an empty one to leave this out"
        yield Finding(_CHECK, Severity.WARNING, url, "the answer is not in the Prometheus format", fix)
        return
    if not collectors:
        fix = "give the URL of fss-exporter with --exporter-url. A version before 0.2.0 does not say this"
        yield Finding(_CHECK, Severity.ADVICE, url, "no background loop is reported", fix)
    for name, figures in sorted(collectors.items()):
        yield _loop(name, figures)
    yield from parts
    yield from _health(url)


def _silent(url: str, error: SourceError) -> Finding:
    if _is_not_connected(error):
        return Finding(_CHECK, Severity.OK, url, "no exporter runs here, so its loops are not checked")
    fix = "check the URL, user and password in --exporter-url, and the log of the exporter"
    return Finding(_CHECK, Severity.WARNING, url, str(error), fix)


def _is_not_connected(error: SourceError) -> bool:
    """Return whether no connection was made. Some kernels answer a port without a server with a reset, not a refusal."""
    cause = error.__cause__
    return isinstance(cause, URLError) and isinstance(cause.reason, ConnectionRefusedError | ConnectionResetError)


def _collectors(text: str) -> dict[str, dict[str, float]]:
    """Return the figures of each background loop, by the label `collector` and the name of the metric."""
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in {_SUCCESS, _LAST, _ERRORS} and "collector" in sample.labels:
                found.setdefault(sample.labels["collector"], {})[sample.name] = sample.value
    return found


def _parts(text: str) -> Iterator[Finding]:
    """Yield a finding for each part of the load by process that counts nothing."""
    idle: list[str] = []
    reasons: dict[str, list[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            part = sample.labels.get("part", "")
            if sample.name == _PART and not sample.value:
                idle.append(part)
            elif sample.name == _PART_FAILURES:
                reasons.setdefault(part, []).append(sample.labels.get("reason", ""))
    for part in idle:
        why = ", ".join(reasons.get(part, [])) or "no reason yet"
        fix = "read the log of the exporter. docs/cost-model.md, Load by process, has the requirements"
        yield Finding(_CHECK, Severity.ADVICE, part, f"this part of the load by process counts nothing: {why}", fix)


def _exact_mode(text: str) -> Iterator[Finding]:
    """Yield a finding for each table of exact mode that counts nothing or has left out intervals."""
    active: dict[str, float] = {}
    failed: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if "check" in sample.labels and sample.value:
                failed.setdefault(sample.name, {})[sample.labels["check"]] = sample.value
            active.setdefault(sample.name, sample.value)
    fix = "read the log of the exporter. docs/cost-model.md, Exact mode, explains each check"
    for subject, (metric, failures) in _EXACT.items():
        checks = ", ".join(f"{check} {count:.0f}" for check, count in sorted(failed.get(failures, {}).items()))
        if active.get(metric) == 0:
            message = f"the kernel counts nothing: {checks or 'no check has failed, and no NFS mount may be there yet'}"
            yield Finding(_CHECK, Severity.ADVICE, subject, message, fix)
        elif metric in active and checks:
            yield Finding(_CHECK, Severity.ADVICE, subject, f"intervals without counts since the start: {checks}", fix)


def _loop(name: str, figures: dict[str, float]) -> Finding:
    last, errors = figures.get(_LAST), figures.get(_ERRORS, 0.0)
    when = f"last success {max(0.0, time.time() - last):.0f} s ago" if last else "no success yet"
    message = f"{when}, {errors:.0f} errors since its start"
    if figures.get(_SUCCESS, 1.0) >= 1:
        return Finding(_CHECK, Severity.OK, name, message)
    fix = "read the log of the exporter: journalctl -u fss-exporter, or kubectl logs"
    return Finding(_CHECK, Severity.PROBLEM, name, f"its last round failed: {message}", fix)


def _health(url: str) -> Iterator[Finding]:
    healthy = urlsplit(url)._replace(path="/-/healthy", query="").geturl()
    try:
        get(healthy)
    except SourceError as error:
        fix = "read the log of the exporter and restart it"
        yield Finding(_CHECK, Severity.PROBLEM, healthy, str(error), fix)
