"""Table of fleet.json: the mount targets by urgency, what is known of each, and who loads it."""

from tools.generate.dashboards.panels import AGE_DECIMALS, CEILING_STEPS, Query
from tools.generate.dashboards.states import since, since_by_address
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import (
    COVERAGE,
    COVERED_BEFORE,
    MOUNT_TARGET,
    RESOURCE_WORDS,
    STATE_WORDS,
    TO_DASHBOARD,
    all_here,
    here,
    to_client,
    with_network,
)

from fss_exporter.model.state import State

LAST = "mount_target_resource:fss_utilisation:last1h"
OF_CLIENTS = "mount_target_resource:fss_client_utilisation:ratio"  # by the likely cost of their operations
AT_LEAST = "mount_target_resource:fss_client_utilisation_lower_bound:ratio"

# The share of the fullest ceiling, of the mount targets of which fresh figures of OCI tell it.
FULLEST = f"max by ({MOUNT_TARGET}) {here('mount_target:fss_fullest_ceiling:max')}"


def each(expr: str, *more: str) -> str:
    return f"max by ({', '.join((MOUNT_TARGET, *more))}) {here(expr)}"


_ROW = f"{MOUNT_TARGET}, network, address"
_JOINED = (
    f"* on (network, address) group_left ({MOUNT_TARGET})"
    f" (address:fss_mount_target:info and on (tenancy, region, mount_target_id) {all_here()})"
)


def by_address(expr: str) -> str:
    """Series of addresses that no poller knows, with the address for a name. Chosen regions hide them, because they have none.

    Other services have a row of their own, but agents alone do not tell them from mount targets at a glance.
    """
    elsewhere = "address:fss_mount_target:info or fss_client_service_info and on () mount_target:fss_mount_target:info"
    return (
        f'label_replace(({expr}) unless on (network, address) ({elsewhere}), "mount_target", "$1", "address", "(.+)")'
    )


_IOPS_OF_ADDRESS = "sum by (network, address) (address:fss_client_estimated_iops:rate5m)"
STATED = 'max by (network, address, resource) (address_resource:fss_client_utilisation:ratio{resource!="peak_iops"})'
ADDRESSES = by_address(_IOPS_OF_ADDRESS)

_ADDRESS_OF = "* on (tenancy, region, mount_target_id) group_left (network, address) mount_target:fss_mount_target:info"
_SHARE_KNOWN = (
    f"max by (region, mount_target_id, resource) ({LAST} or on (tenancy, region, mount_target_id) {OF_CLIENTS})"
)
_STATES = each("mount_target:fss_state:max", "tenancy")
_OF_ADDRESSES = (
    f"(address:fss_state:max or {_IOPS_OF_ADDRESS} * 0)\n+ on (network, address) group_left (resource)\n"
    f"topk by (network, address) (1, clamp_max({STATED}, 1.5) / 2 or {_IOPS_OF_ADDRESS} / 1e9)"
)

# Rows in the order of urgency: the worst state first, then the largest share that is known, then the IOPS of an address.
_RANK = (
    f"max by ({_ROW}) ({_STATES} {_ADDRESS_OF})\n+ on (region, mount_target_id) group_left (resource)\n"
    f"topk by (region, mount_target_id) (1, clamp_max({_SHARE_KNOWN}, 1.5) / 2 or 0 * max by (region, mount_target_id) (mount_target:fss_state:max))\n"
    f"or\n{by_address(_OF_ADDRESSES)}"
)


def _with_way(expr: str, dashboard: str, variable: str, label: str) -> str:
    """Rows with the dashboard that a click leads to, and what it chooses there."""
    chosen = f'label_replace({expr}, "chosen", "$1", "{label}", "(.+)")'
    return (
        f'label_replace(label_replace({chosen}, "dashboard", "{dashboard}", "", ""), "variable", "{variable}", "", "")'
    )


_ROWS = f"group by ({_ROW}) ({all_here()} {_ADDRESS_OF})"
_WAYS = "\nor\n".join(
    (
        _with_way(_ROWS, "fss-mount-target", "mount_target", "mount_target_id"),
        _with_way(f"0 * {ADDRESSES}", "fss-clients", "address", "address"),
    )
)


def _said(expr: str, words: str, by: str = MOUNT_TARGET, into: str = "known") -> str:
    """Whole numbers as a text in the label `into`."""
    return f'label_replace(count_values by ({by}) ("{into}", round({expr})), "{into}", "{words}", "{into}", "(.+)")'


_SHARE = 'resource!="connections"'
_MINUTES_OLD = f"{each(f'mount_target_resource:fss_utilisation_age_seconds:min{{{_SHARE}}}')} / 60"
_WAS = f"{_said(f'100 * {each(LAST)}', 'was $1 %')}\n* on ({MOUNT_TARGET}) group_left (age) {_said(_MINUTES_OLD, '$1 min', into='age')}"
_SOURCE = f"group by ({MOUNT_TARGET}, source) {here(f'mount_target_resource:fss_utilisation:ratio{{{_SHARE}}}')} and on (region, mount_target_id) {FULLEST}"
_TOLD = f'label_replace(label_replace({_SOURCE}, "known", "measured", "source", "measured"), "known", "estimated", "source", "oci")'
_SEEN = "\nor on (mount_target)\n".join(
    (
        f"{_said(f'floor(100 * {each(AT_LEAST)})', 'at least $1 %')} unless on (region, mount_target_id) {LAST}",
        _said(f"100 * max by (mount_target) ({by_address(STATED)})", "about $1 %", "mount_target"),
        _said(ADDRESSES, "about $1 IOPS", "mount_target"),
    )
)

# Where the share of now comes from, or else what was known last, or else what the clients cause. One of them for each row.
_KNOWLEDGE = (
    f"group by ({MOUNT_TARGET}, known) (topk by ({MOUNT_TARGET}) (1, {_TOLD}))",
    f'group by ({MOUNT_TARGET}, known) (label_join({_WAS}, "known", ", ", "known", "age")) unless on (region, mount_target_id) {FULLEST}',
    f"group by ({MOUNT_TARGET}, known) (topk by ({MOUNT_TARGET}) (1, {_SEEN}))",
)

_TOP_CLIENTS = "client:fss_client_estimated_iops:topk20_rate5m"
_BY_ROW = f"topk by ({MOUNT_TARGET}) (1, sum by ({MOUNT_TARGET}, {{}}) (\n{{}}\n))"


def _first(series: str, labels: str) -> str:
    """The first client or operation of each row."""
    return _BY_ROW.format(labels, f"{series} {_JOINED}\nor\n{by_address(series)}")


_TOP_CLIENT = _first(_TOP_CLIENTS, "network, address, instance")
_TOP_CLIENT = f'label_replace(label_replace({with_network(_TOP_CLIENT)}, "shown_client", "$1", "instance", "(.+)"), "client", "$1", "instance", "(.+)")'
_NOBODY = f"0 * {_ROWS} unless on (network, address) {_TOP_CLIENTS}"

# A mount target without any client that has an agent leads to all of its clients.
_NO_CLIENT = f'label_replace(label_replace({with_network(_NOBODY)}, "shown_client", "no agent", "", ""), "client", "All", "", "")'

# The first step by state. A click on the name leads to the rows.
_STEPS = {
    str(state.value): (step, "text")
    for state, step in {
        State.FINE: "-",
        State.NOT_KNOWN: "see FSS exporter",
        State.NEAR: "cut or move its load",
        State.SLOW: "open its row Latency",
        State.FAILING: "open its row Errors",
        State.HANGING: "check network and OCI",
    }.items()
}
_IN_STATE = "and on (region, mount_target_id) mount_target:fss_state:max =="
_TODO = "\nor on (mount_target)\n".join(
    (
        f'label_replace({each(COVERED_BEFORE)} {_IN_STATE} {State.NOT_KNOWN:d}, "todo", "find the lost agents", "", "")',
        _said(
            f"{each('mount_target:fss_mount_targets_needed:count > 1')} {_IN_STATE} {State.NEAR:d}",
            "needs $1 mount targets",
            into="todo",
        ),
        _said(each("mount_target:fss_state:max"), "$1", into="todo"),
        _said(by_address("address:fss_state:max"), "$1", "mount_target", into="todo"),
    )
)


MOUNT_TARGETS = table(
    "Mount targets: how close, who, what now",
    "The worst state first, of what OCI tells and what the clients feel. Fullest is the share of the fullest ceiling, while OCI tells it. Known says the source, or in its "
    "place the last share with its age, or what the clients with an agent cause: at least is proven, and about is likely. None of these is a verdict. Coverage is the share of the load that the clients with "
    "an agent explain. Was is what it was in a day, if it was much more: agents that were seen are gone, and the mount target is not known. The top client costs most. What now "
    "is the first step, and for a mount target near a ceiling how many of its shape carry the last hour below the warning line. Without a poller the rows are addresses, with the state by their clients and the ceilings that the "
    "configuration of the agents states. Click a name for more.",
    Query(f"sort_desc(\n{_RANK}\n)", "info"),
    Query(_WAYS, "info"),
    Query(f"{each('mount_target:fss_state:max')}\nor\n{by_address('address:fss_state:max')}", "state"),
    Query(f"{each(since())}\nor\n{by_address(since_by_address())}", "since"),
    Query(FULLEST, "now"),
    *(Query(knowledge, "info") for knowledge in _KNOWLEDGE),
    Query(each(COVERAGE), "coverage"),
    Query(each(COVERED_BEFORE), "covered"),
    Query(_TOP_CLIENT, "info"),
    Query(_NO_CLIENT, "info"),
    Query(_TODO, "info"),
    columns={
        "mount_target": Column("Mount target", url=TO_DASHBOARD, least=100),
        "state": Column("State", unit="none", words=STATE_WORDS, width=82),
        "since": Column("Since", unit="s", decimals=AGE_DECIMALS, width=66),
        "now": Column("Fullest", unit="percentunit", steps=CEILING_STEPS, width=72),
        "resource": Column("Ceiling", words=RESOURCE_WORDS, width=114, is_optional=True),
        "known": Column("Known", width=126, is_optional=True),
        "coverage": Column("Coverage", unit="percentunit", width=85),
        "covered": Column("Was", unit="percentunit", steps=((None, "orange"),), width=56),
        "shown_client": Column("Top client", url=to_client("client"), width=125),
        "todo": Column("What now", words=_STEPS, width=172),
        "of_network": Column(None),
        "address": Column(None),
        "client": Column(None),
        "dashboard": Column(None),
        "variable": Column(None),
        "chosen": Column(None),
    },
    height=9,
)
