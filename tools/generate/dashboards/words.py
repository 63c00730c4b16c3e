"""Selectors, links, names and steps that several dashboards share."""

from collections.abc import Callable

from tools.generate.dashboards.panels import NO_POLLER, Query, Steps

from fss_exporter.model.state import State

IN_REGION = 'tenancy=~"$tenancy", region=~"$region"'
MOUNT_TARGET = "region, mount_target_id, mount_target"
_CHOSEN_ROWS = 'mount_target:fss_mount_target:info{tenancy=~"$tenancy", region=~"$region", compartment=~"$compartment", shape=~"$shape"}'

# Series of the chosen clients. Series of all clients together have no `instance`, so that they are found while All is chosen.
CHOSEN = 'network=~"$network", address=~"$address", instance=~"$client"'

# No series has the label `every`, and of all choices All alone takes what is empty: no series while All is chosen.
#
# VictoriaMetrics takes the bare regular expression of All for one that leaves the empty label out, hence the parentheses.
BY_NAME = 'every!~"$client()"'

OF_ALL = f'{CHOSEN}, every=~"$client()"'  # recorded series while All is chosen, and no series else

# Counters of clients that are chosen by name, because to read those of all clients takes seconds.
ALONE = f"{CHOSEN}, {BY_NAME}"

# These equal the numbers in rules/; a test compares.
DATA_AGE_STEPS: Steps = ((None, "green"), (420, "orange"), (900, "red"))
CLOCK_STEPS: Steps = ((None, "green"), (60, "orange"))
POLL_AGE_STEPS: Steps = ((None, "green"), (420, "orange"), (900, "red"))
THROTTLED_STEPS: Steps = ((None, "green"), (0.05, "orange"))
RETRANSMISSION_STEPS: Steps = ((None, "green"), (0.01, "orange"))
FAILED_STEPS: Steps = ((None, "green"), (0.01, "red"))
IMBALANCE_STEPS: Steps = ((None, "green"), (1.5, "orange"))
REPLICATION_STEPS: Steps = ((None, "green"), (2, "orange"))
BURN_STEPS: Steps = ((None, "green"), (1, "orange"), (14.4, "red"))
BUDGET_STEPS: Steps = (
    (None, "red"),
    (0, "orange"),
    (0.25, "green"),
)  # spent, nearly spent, enough: a budget has no alert of its own

KEEP = "${datasource:queryparam}&${__url_time_range}"
TO_MOUNT_TARGET = f"/d/fss-mount-target?var-mount_target=${{__data.fields.mount_target_id}}&${{tenancy:queryparam}}&${{region:queryparam}}&{KEEP}"
_TO_CLIENTS = "/d/fss-clients?var-network=${__data.fields.of_network}&var-address=${__data.fields.address}"


def to_client(label: str = "instance") -> str:
    """A link to a client of one server; two networks can have the same address."""
    return f"{_TO_CLIENTS}&var-client=${{__data.fields.{label}}}&{KEEP}"


TO_DASHBOARD = f"/d/${{__data.fields.dashboard}}?var-${{__data.fields.variable}}=${{__data.fields.chosen}}&{KEEP}"
WEEK_AGO = "a week ago"
_CONSOLE = "https://cloud.oracle.com/fss"
TO_CONSOLE = f"{_CONSOLE}/mount-targets/${{__data.fields.mount_target_id}}?region=${{__data.fields.region}}"
FILE_SYSTEM_IN_CONSOLE = f"{_CONSOLE}/file-systems/${{__data.fields.file_system_id}}?region=${{__data.fields.region}}"

# Labels as people say them, for legends.
SIZES = (
    (r"0B_to_(\d+)(KiB|MiB)", "up to $1 $2"),
    (r"(\d+)(KiB)_to_(\d+)(KiB|MiB)", "$1 $2 to $3 $4"),
)
RESOURCES = ((r"(read|write)_bandwidth", "$1 bandwidth"), (r", iops$", ", IOPS"))
CLASSES = ((r"metadata_(read|write)", "metadata $1"),)
RESOURCE_WORDS = {
    "iops": ("IOPS", "text"),
    "read_bandwidth": ("read bandwidth", "text"),
    "write_bandwidth": ("write bandwidth", "text"),
    "connections": ("connections", "text"),
    "encrypted_connections": ("encrypted", "text"),
}
STATE_COLOURS = {
    State.FINE: "green",
    State.NOT_KNOWN: "text",
    State.NEAR: "orange",
    State.SLOW: "dark-orange",
    State.FAILING: "red",
    State.HANGING: "dark-red",
}

# What the value of a state reads, and its colour.
STATE_WORDS = {str(state.value): (state.word, colour) for state, colour in STATE_COLOURS.items()}


def with_network(expr: str) -> str:
    """Series of clients with the label `of_network` for a link. node_exporter names no network: All stands for none."""
    expr = f'label_replace({expr}, "of_network", "All", "network", "")'
    return f'label_replace({expr}, "of_network", "$1", "network", "(.+)")'


def nearest(expr: str, by: str) -> str:
    """The first few over the time shown; `expr` is a selector. A plain topk would change its choice at every step."""
    return f"{expr}\nand on ({by})\ntopk($top, max_over_time({expr}[$__range] @ end()))"


def nearest_here(expr: str, by: str) -> str:
    """The first few of the mount targets of the chosen regions, compartments and shapes, with the names of the mount targets."""
    listed = f"topk by ({_RESOURCE}) (1, last_over_time({_CHOSEN_ROWS}[$__range] @ end()))"
    chosen = f"topk($top, max_over_time({expr}[$__range] @ end()) and on ({_RESOURCE}) {listed})"
    return f"{_named(f'{expr} and on ({by}) {chosen}', listed)}"


def largest_now(expr: Callable[[str], str], by: str, *, operator: str = "topk", count: int | str = "$top") -> str:
    """The largest at the end of the time shown, over all of the time.

    Args:
        expr: gives the expression with this modifier behind each selector; ` @ end()` stands for the end of the time shown.
        by: the labels that tell the series apart.
    """
    return f"{expr('')}\nand on ({by})\n{operator}({count}, {expr(' @ end()')})"


def largest_clients(recorded: str, counted: Callable[[str], str], by: str) -> str:
    """The largest at the end of the time shown, of what the rules record of clients and of the clients that are chosen by name.

    Copies of a series count once after the choice, because that is a fifth of the work.

    Args:
        recorded: the selector of the recorded series.
        counted: gives what the counters of the chosen clients say, with this modifier behind each selector.
        by: the labels that tell clients apart.
    """

    def once(series: str) -> str:
        return f"max by ({by}) ({series})"

    largest = f"topk($top, {once(recorded + ' @ end()')} or {once(counted(' @ end()'))})"
    chosen = (once(f"{series} and on ({by}) {largest}") for series in (recorded, counted("")))
    return "(" + "\nor\n".join(chosen) + ")"


_RESOURCE = "tenancy, region, mount_target_id"


def _named(expr: str, rows: str) -> str:
    """Series of mount targets with the names that these rows have, because a mount target can be renamed, and a name can repeat."""
    return f"max without (mount_target) ({expr})\n* on ({_RESOURCE}) group_left (mount_target) {rows}"


def here(expr: str) -> str:
    """Series of mount targets of the chosen regions, compartments and shapes, with their names."""
    return f"({_named(expr, _CHOSEN_ROWS)})"


def with_name(expr: str, key: str) -> str:
    """Series of file systems, replications or resources of other services, by the OCID in the label `key`, with the label `name`.

    A name can repeat: it has its place behind it then.
    """
    by = f"tenancy, region, {key}"
    return f'{expr}\n* on ({by}) group_left (name) resource:fss_name:info{{{key}!=""}}'


def all_here() -> str:
    """The chosen mount targets, also those whose load is not known. The rows outlive the poller for hours."""
    return f"group by (tenancy, {MOUNT_TARGET}) ({_CHOSEN_ROWS})"


def of_clients(recorded: str, counted: str) -> str:
    """What the rules record of all clients together, or what the counters of the clients give that are chosen by name."""
    return f"(\n{recorded}\nor\n{counted}\n)"


def histogram_of_clients(name: str, level: str, selector: str, by: str = "") -> str:
    """A histogram of all clients together, or of those that are chosen by name, in the form that the server has.

    A server keeps the buckets as series of their own, by `le`, or a native histogram that it made of them at the scrape.

    Args:
        level: what the rules sum up by, as in the names of the records.
        selector: matchers of labels besides those of the chosen clients.
        by: the labels that remain, besides `le` of the buckets.
    """
    of_buckets, of_histograms = (f"sum by ({by}, le)", f"sum by ({by})") if by else ("sum by (le)", "sum")
    forms = (
        (of_buckets, f"{level}_le:{name}_bucket:rate5m", f"{name}_bucket"),
        (of_histograms, f"{level}:{name}:rate5m", name),
    )
    either = (
        of_clients(
            f"{summed} ({recorded}{{{selector}{CHOSEN}}})",
            f"{summed} (rate({counted}{{{selector}{ALONE}}}[$__rate_interval]))",
        )
        for summed, recorded, counted in forms
    )
    return "\nor\n".join(either)


def client_iops(selector: str, alone: str) -> str:
    """Estimated IOPS of the first clients of each address, and of those that are chosen by name."""
    by = "max by (network, instance, address)"
    agents = f"rate(fss_client_address_estimated_io_operations_total{{{alone}}}[$__rate_interval])"
    return f"({by} (client:fss_client_estimated_iops:topk20_rate5m{{{selector}}}) or {by} ({agents}))"


COVERAGE = "mount_target:fss_client_coverage:ratio"
COVERED_BEFORE = "mount_target:fss_client_coverage_lost:p90_1d"  # where agents that were seen are gone


def ceiling(limit: str, selector: str, warning_ratio: float) -> list[Query]:
    """The ceiling and its warning line, for a graph in the ceiling's own unit."""
    return [
        Query(f"min({limit}{{{selector}}})", "ceiling"),
        Query(f"{warning_ratio:g} * min({limit}{{{selector}}})", f"{100 * warning_ratio:.0f} % of the ceiling"),
    ]


def once_a_mount(series: str, *labels: str) -> str:
    """Series of the mounts of clients, each once: two jobs can scrape one agent, and a server can hold copies."""
    return f"max by ({', '.join(('network, instance, address, server, export', *labels))}) ({series})"


def counted(series: str, source: str) -> str:
    """How many series are found. Without any series of the source nothing is known, which is not 0."""
    return f"count({series}) or 0 * count({source})"


def poll_age(selector: str) -> str:
    """Seconds since the last poll of each region of the last day, because a region with a dead poller must stay in sight."""
    return f"time() - max by (tenancy, region) (last_over_time(fss_oci_poll_timestamp_seconds{{{selector}}}[1d]))"


# Says why there is no figure of OCI: agents answer, and nobody polled within a day.
WITHOUT_POLLER = Query(
    f"{NO_POLLER} * group(fss_exporter_build_info) unless on () last_over_time(fss_oci_poll_timestamp_seconds[1d])",
    "agents alone",
)


def data_age(selector: str) -> str:
    """Seconds since the newest minute of any mount target metric, in the region where it is oldest. With a dead poller: since the poll.

    Polls go on while OCI answers none of them. A region without any figure makes the age unknown, unless the age is too high elsewhere.
    """
    metrics = "(?i:MountTarget(Connections|IOPS|ReadThroughput|WriteThroughput))"
    ages = f'min by (tenancy, region) (fss_oci_datapoint_age_seconds{{oci_metric=~"{metrics}", {selector}}})'
    dead = f"({poll_age(selector)} unless on (tenancy, region) fss_oci_poll_timestamp_seconds{{{selector}}})"
    oldest = f"max({ages} or {dead})"
    unknown = f"(fss_mount_target_info{{{selector}}} unless on (tenancy, region) {ages})"
    return f"{oldest} > {DATA_AGE_STEPS[1][0]}\nor on ()\n({oldest} unless on () {unknown})"
