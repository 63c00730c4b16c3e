"""The series a group of rules selects, of a fleet of clients that is generated: four mounts each, every operation in use."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import promql_parser

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.model.operations import OPERATION_CLASSES, class_of

MOUNTS = 4
MOUNT_TARGETS = 50

OPERATIONS = (
    "ACCESS COMMIT CREATE FSINFO FSSTAT GETATTR LINK LOOKUP MKDIR MKNOD NULL PATHCONF READ READDIR READDIRPLUS READLINK "
    "REMOVE RENAME RMDIR SETATTR SYMLINK WRITE"
).split()
CLASSES = list(OPERATION_CLASSES)
KINDS = ["read", "write", "metadata"]
OF_OTHER_SERVICES = re.compile("fss_client_(service_info|objective_.*|latency_objective_.*|.*_limit)")
NETWORK = 'network="eu-1"'

# The series of an agent, or of a scrape of it, that have no address: name, and the labels that the scrape does not add.
_OF_HOSTS = dict.fromkeys(
    (
        "fss_exporter_build_info",
        "fss_nfs_received_bytes_total",
        "fss_nfs_sent_bytes_total",
        "fss_nfs_superblocks_left_out",
        "fss_nfs_ticks_total",
        "fss_nfs_unresolved_forwarder_addresses",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "scrape_duration_seconds",
        "scrape_samples_scraped",
        "up",
    ),
    "",
) | dict.fromkeys(
    ("fss_collector_errors_total", "fss_collector_last_success_timestamp_seconds", "fss_collector_success"),
    'collector="nfs",',
)

OPTIONS = 'protocol="tcp",nconnect="1",rsize="1048576",wsize="1048576",mount_point="/mnt"'


class Selected:
    """The series of one name that a group's rules select: those of the whole fleet that its matchers let through."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._alternatives: list[list[Any]] = []

    def add(self, matchers: list[Any]) -> None:
        """Series that these matchers let through as well."""
        self._alternatives.append(matchers)

    def wants(self, **labels: str) -> bool:
        """Whether some selector lets a series with these labels through."""
        return any(all(_passes(matcher, labels) for matcher in matchers) for matchers in self._alternatives)

    def splits(self) -> list[str]:
        """The label texts that a mount's or address' series of this name differ in."""
        return [
            "".join(f'{label}="{value}",' for label, value in labels.items())
            for labels in self._all_splits()
            if self.wants(**labels)
        ]

    def _all_splits(self) -> list[dict[str, str]]:
        level, recorded, _ = self.name.partition(":")
        labels = () if recorded or level not in CATALOGUE else CATALOGUE[level].labels
        if "operation" in labels and "class" in labels:
            return [{"class": class_of(operation), "operation": operation} for operation in OPERATIONS]
        if level.startswith("node_mountstats_nfs_operations"):
            return [{"operation": operation} for operation in OPERATIONS]
        if "_bound" in self.name:
            return [{"class": "read"}, {"class": "write"}]
        if "class" in labels or level.endswith("_class"):
            return [{"class": of_class} for of_class in CLASSES]
        return [{}]


def _passes(matcher: Any, labels: Mapping[str, str]) -> bool:
    if matcher.name not in labels:
        return True
    operator, value = str(matcher.op).removeprefix("MatchOp."), labels[matcher.name]
    if operator in {"Equal", "NotEqual"}:
        return bool(value == matcher.value) == (operator == "Equal")
    return bool(re.fullmatch(matcher.value, value)) == (operator == "Re")


def selected(group: Mapping[str, Any]) -> dict[str, Selected]:
    """By name what a group's rules select, but for what the group records itself."""
    selected: dict[str, Selected] = {}
    own = {rule.get("record") for rule in group["rules"]}
    for rule in group["rules"]:
        for selector in _selectors(promql_parser.parse(rule["expr"])):
            if selector.name not in own:
                selected.setdefault(selector.name, Selected(selector.name)).add(selector.matchers.matchers)
    return selected


def _selectors(node: Any) -> Iterator[Any]:
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for part in ("lhs", "rhs", "expr", "vector_selector"):
        if isinstance(child := getattr(node, part, None), promql_parser.Expr):
            yield from _selectors(child)
    for argument in getattr(node, "args", None) or ():
        yield from _selectors(argument)


def of_client(client: int, names: Mapping[str, Selected]) -> Iterator[str]:
    """Series of one client."""
    scraped = f'job="fss",instance="client-{client}:10949"'
    if not any(name.startswith("node_") for name in names):
        # The rules record series of single clients for node_exporter and for clients with a fault. This fleet has neither.
        names = {name: series for name, series in names.items() if not name.startswith("client:")}
    for number in range(MOUNTS):
        address = f"10.80.{(client + number) % MOUNT_TARGETS}.10"
        for name, series in names.items():
            if (own := _of_mount(series, address, number)) and series.wants(service="oci-fss"):
                yield from (f"{name}{{{split}{scraped},{own}}}" for split in series.splits())
    yield from (f"{name}{{{_OF_HOSTS[name]}{scraped}}}" for name in names if name in _OF_HOSTS)
    if "node_scrape_collector_success" in names:
        yield f'node_scrape_collector_success{{{scraped},collector="mountstats"}}'


def _of_mount(series: Selected, address: str, number: int) -> str:
    """The labels that tell a mount, or an address, of a client from its others; empty for a series it does not have."""
    name, at = series.name, f'{NETWORK},address="{address}"'
    mount = f'{at},server="{address}",export="/export/{number}",service="oci-fss"'
    if name.startswith(("node_mountstats_", "node_mount:", "node_class:")):
        return f'mountaddr="{address}",export="{address}:/export/{number}",protocol="tcp"'
    if name.startswith("client:"):
        return f'{at},agent="node_exporter"'
    if not name.startswith("fss_client_") or OF_OTHER_SERVICES.fullmatch(name) or name not in CATALOGUE:
        return ""  # a histogram has series in exact mode only, and the fleet runs without it
    if name == "fss_client_mount_info":
        return f"{mount},{OPTIONS}"
    return mount if "export" in CATALOGUE[name].labels else at


def of_region(names: Mapping[str, Selected]) -> Iterator[str]:
    """Series of the mount targets and addresses."""
    for number in range(MOUNT_TARGETS):
        target = f'region="eu-1",mount_target_id="ocid1.mt.{number}",mount_target="mt-{number}"'
        address = f'{NETWORK},address="10.80.{number}.10"'
        for name, series in names.items():
            if name == "address:fss_mount_target:info":
                yield f"{name}{{{address},{target}}}"
            elif name.startswith("address"):
                yield from (f"{name}{{{split}{address}}}" for split in series.splits())
            elif name == "fss_mount_target_info":
                yield f'{name}{{{target},{address},state="ACTIVE"}}'
            elif name.startswith(("mount_target:", "fss_mount_target_")):
                yield f'{name}{{{target},resource="iops",kind="metadata"}}'
    if "fss_default_latency_objective_seconds" in names:
        yield from (f'fss_default_latency_objective_seconds{{kind="{kind}"}}' for kind in KINDS)
