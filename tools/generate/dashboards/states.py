"""The state of mount targets: since when, by which figure, and what now, from the source of the status page and of `top`.

The state is the worse of what OCI says and of what the clients feel. Figure and age are those of the side that gives it, of OCI if both do.
"""

from tools.generate.dashboards.mount_target_load import ADDRESS, THIS
from tools.generate.dashboards.panels import NEUTRAL_STEPS, Query, stat
from tools.generate.dashboards.words import STATE_WORDS

from fss_exporter.model.state import ERRORS, LIFECYCLE, WAIT, State

WORST = "mount_target:fss_state:max"

_KEY = "tenancy, region, mount_target_id"
_CLIENT = "network, instance, address"

# A reason is a multiple of its limit, and only the limit of failed requests is not 1. A wait is told by its age, and what OCI calls a mount
# target by the state.
_FAILED_LIMIT = ERRORS.limits[0][0]
_NO_SHARE = f'subject!~"{WAIT.name}|{LIFECYCLE.name}"'


def _share(evidence: str, selector: str) -> str:
    """The reason as a share: of requests that failed, of a ceiling, or of a latency objective."""
    return (
        f'({_FAILED_LIMIT:g} * {evidence}{{subject="{ERRORS.name}", {selector}}}'
        f' or {evidence}{{subject!="{ERRORS.name}", {_NO_SHARE}, {selector}}})'
    )


def of_oci(series: str, selector: str = "") -> str:
    """Series of mount targets of which OCI gives the state."""
    same = f"max by ({_KEY}) (fss_mount_target_state{{{selector}}}) == max by ({_KEY}) ({WORST}{{{selector}}})"
    return f"{series} and on ({_KEY}) ({same})"


def of_clients(series: str, selector: str = "") -> str:
    """Series of clients that are in the state that the clients give, slow or worse, by address."""
    bad = f"max by ({_CLIENT}) (fss_client_address_state{{{selector}}}) >= {State.SLOW:d}"
    return f"{series} and on ({_CLIENT}) ({bad})"


def since_by_address() -> str:
    """Seconds for which the clients of an address have been slow, failing or hanging, of the client for which it is longest."""
    return f"max by (network, address) ({of_clients('fss_client_address_state_age_seconds')})"


def since() -> str:
    """Seconds for which mount targets have been in their state."""
    oci = of_oci("fss_mount_target_state_age_seconds")
    joined = f"on (network, address) group_left ({_KEY}, mount_target) address:fss_mount_target:info"
    return (
        f"max by ({_KEY}, mount_target) ({oci})\n"
        f"or on ({_KEY}) max by ({_KEY}, mount_target) ({since_by_address()} * {joined})"
    )


def _text(value: str, label: str, words: str) -> str:
    return f'label_replace(count_values("{label}", {value}), "{label}", "{words}", "{label}", "(.+)")'


def _state_of_this() -> str:
    """The state of the mount target that is shown, with figure and age in the label `said`."""
    state = f"max({WORST}{{{THIS}}})"
    evidence = _share("fss_mount_target_state_evidence_ratio", THIS)
    felt = _share("fss_client_address_state_evidence_ratio", ADDRESS)
    share = f"max({of_oci(evidence, THIS)}) or max({of_clients(felt, ADDRESS)})"
    age = (
        f"max({of_oci(f'fss_mount_target_state_age_seconds{{{THIS}}}', THIS)})"
        f" or max({of_clients(f'fss_client_address_state_age_seconds{{{ADDRESS}}}', ADDRESS)})"
    )
    ages = f"{_text(f'round(({age}) / 60) < 120', 'age', '$1 min')} or {_text(f'round(({age}) / 3600) > 1', 'age', '$1 h')}"
    shares = _text(f"round(100 * ({share}), 0.1)", "share", "$1 %")
    both = f'label_join({shares} * on () group_left (age) topk(1, {ages}), "said", ", ", "share", "age")'
    said = f'{both}\nor on () label_join(topk(1, {ages}), "said", "", "age")'
    return f"{state}\n* on () group_left (said) ({said})\nor on () {state}"


STATE = stat(
    "State",
    "The state of this mount target as the status page, top and the alerts have it: the worse of what OCI tells and of what its clients feel. Above it "
    "the share of requests that failed, of the ceiling or of the latency objective that makes the state, and how long it has lasted.",
    Query(_state_of_this(), "{{said}}"),
    unit="none",
    steps=NEUTRAL_STEPS,
    words=STATE_WORDS,
)
