"""Collections for the status page, written as samples of the catalogue."""

from collections.abc import Iterable
from datetime import UTC, datetime

from prometheus_client.metrics_core import Metric as Family
from tests.exposition_text import families_of

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.client_scrape import Scraped
from fss_exporter.model.operations import FIXED_COSTS, class_of
from fss_exporter.model.service_table import OCI_FSS
from fss_exporter.model.state import State, Subject
from fss_exporter.web.status.overview import TimedScrape, status_page
from fss_exporter.web.status.rows import MountTargetRow, StatusPage

START = TimedScrape(0.0, Scraped())  # the start of the exporter, when all counters were 0
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"

NETWORK = "eu-frankfurt-1"

Row = tuple[str, dict[str, str], float]


def families(rows: Iterable[Row]) -> list[Family]:
    """As a collection gives them; label names and metric names must be of the catalogue."""
    values = {}  # two operations of a mount repeat its other series
    for name, given_labels, value in rows:
        labels = dict.fromkeys(CATALOGUE[name].labels, "") | given_labels
        if "network" in labels:
            labels["network"] = labels["network"] or NETWORK
        assert set(labels) == set(CATALOGUE[name].labels), name
        text = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        values[f"{name}{{{text}}}" if text else name] = value
    return families_of("\n".join(f"{series} {value}" for series, value in values.items()) + "\n")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _identity(name: str) -> dict[str, str]:
    return {
        "tenancy": "acme",
        "region": "eu-frankfurt-1",
        "mount_target_id": f"ocid1.mounttarget.{name}",
        "mount_target": name,
    }


def mount_target(name: str = "mt-home", **values: float) -> list[Row]:
    identity = _identity(name)
    info = identity | {"address": "10.80.1.10", "shape": "standard", "state": "ACTIVE"}
    return [
        ("fss_mount_target_info", info, 1),
        *((f"fss_mount_target_{key}", identity, value) for key, value in values.items()),
    ]


def judged(name: str, state: State, seconds: float = 120.0, *reasons: tuple[Subject, str, float]) -> list[Row]:
    """The state of a mount target as a poller exports it, with subject, detail and ratio of each reason."""
    own = _identity(name)
    return [
        ("fss_mount_target_state", own, float(state)),
        ("fss_mount_target_state_age_seconds", own, seconds),
        *(
            (
                "fss_mount_target_state_evidence_ratio",
                own | {"state": state.word, "subject": subject.name, "detail": detail, "source": "measured"},
                ratio,
            )
            for subject, detail, ratio in reasons
        ),
    ]


def fresh(seconds: float = 60.0) -> list[Row]:
    """The age of what OCI published."""
    return [
        (
            "fss_oci_datapoint_age_seconds",
            {"tenancy": "acme", "region": "eu-frankfurt-1", "oci_metric": metric},
            seconds,
        )
        for metric in (
            "MountTargetIOPS",
            "MountTargetReadThroughput",
            "MountTargetWriteThroughput",
            "MountTargetConnections",
            "FileSystemReadRequestsbySize",
            "FileSystemReadAverageLatencybySize",
        )
    ]


def last_known(name: str, seconds: float, **ratios: float) -> list[Row]:
    """The shares that the poller keeps after OCI stopped, with their age."""
    own = {"tenancy": "acme", "region": "eu-frankfurt-1", "mount_target_id": f"ocid1.mounttarget.{name}"}
    share = own | {"mount_target": name, "statistic": "mean", "source": "oci"}
    return [
        *(
            ("fss_mount_target_utilisation_ratio", share | {"resource": resource}, ratio)
            for resource, ratio in ratios.items()
        ),
        *(("fss_mount_target_data_age_seconds", _labelled(own, resource), seconds) for resource in ratios),
    ]


def _labelled(own: dict[str, str], resource: str) -> dict[str, str]:
    return {
        label: (own | {"resource": resource}).get(label, "")
        for label in CATALOGUE["fss_mount_target_data_age_seconds"].labels
    }


def mount(
    io: float,
    *,
    address: str = "10.80.1.10",
    export: str = "/export/a",
    operation: str = "GETATTR",
    service: str = OCI_FSS.name,
) -> list[Row]:
    identity = {"address": address, "server": "mt-home.sub.vcn.oraclevcn.com", "export": export, "service": service}
    done = identity | {"class": class_of(operation)}
    cost = FIXED_COSTS.get(operation) or 2
    bounds = [
        (f"fss_client_estimated_io_operations_{side}_bound_total", done, io * factor)
        for side, factor in (("lower", 0.9), ("upper", 1.2))
        if done["class"] in {"read", "write"}  # the cost of all other classes is exact
    ]
    return [
        *bounds,
        ("fss_client_mount_info", identity | {"mount_point": "/mnt/a"}, 1),
        ("fss_client_estimated_io_operations_total", done, io),
        ("fss_client_requests_total", done, io / cost),
        ("fss_client_operations_total", done | {"operation": operation}, io / cost),
        ("fss_client_rtt_seconds_total", done, io / cost * 0.002),
        ("fss_client_queue_seconds_total", done, io / cost * 0.0005),
        ("fss_client_read_bytes_total", identity, io * 1000),
        ("fss_client_written_bytes_total", identity, io * 10),
    ]


def page_of(*rows: Row, earlier: Iterable[Row] = (), after: float = 10.0) -> StatusPage:
    _, look = status_page(families(earlier), now=NOW, at=100.0, earlier=START)
    return status_page(families(rows), now=NOW, at=100.0 + after, earlier=look)[0]


def only_row(page: StatusPage) -> MountTargetRow:
    (row,) = page.mount_targets
    return row
