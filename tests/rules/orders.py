"""Other orders and phases of the groups. Prometheus evaluates groups in no order, each at a moment of its own within the interval.

promtool evaluates all groups at full minutes. A group with a phase of 15 seconds before the minute reads raw series as of 15 seconds ago, and
what groups with an earlier moment recorded in this minute. Of later groups it reads what they recorded a minute ago.
"""

import random
import re
from collections.abc import Callable, Sequence

from tests.rules.possible import Group

Order = Callable[[Sequence[Group]], list[Group]]

PHASES_S = (45, 30, 15, 0)
_SELECTOR = re.compile(
    r'"[^"]*"|(?<![\w:])(?P<name>fss_\w+|node_\w+|kube_\w+|up)(?![\w:(])(?P<matchers>\{[^}]*\})?(?P<range>\[\w+\])?'
    r"(?: offset (?P<offset>\d+)(?P<unit>[smhd]))?"
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def file_order(groups: Sequence[Group]) -> list[Group]:
    """As the files have them."""
    return list(groups)


def reversed_order(groups: Sequence[Group]) -> list[Group]:
    """The last group first: what a group reads of an earlier group is one interval old."""
    return list(groups)[::-1]


def shuffled(groups: Sequence[Group], seed: int = 7) -> list[Group]:
    """A permutation."""
    return random.Random(seed).sample(list(groups), len(groups))


def in_phases(groups: Sequence[Group], seed: int = 11) -> list[Group]:
    """Each group at its own moment: so many seconds before the minute, by chance."""
    chance = random.Random(seed)
    recorded = frozenset(rule["record"] for group in groups for rule in group["rules"] if "record" in rule)
    phases = sorted(((chance.choice(PHASES_S), group) for group in shuffled(groups, seed)), key=lambda one: -one[0])
    return [_delayed(group, seconds, recorded) for seconds, group in phases]


def _delayed(group: Group, seconds: int, recorded: frozenset[str]) -> Group:
    rules = [{**rule, "expr": as_of(rule["expr"], seconds, recorded)} for rule in group["rules"]]
    return {**group, "rules": rules}


def as_of(expression: str, seconds: int, recorded: frozenset[str] = frozenset()) -> str:
    """The expression with raw series and the clock as of so many seconds ago. `recorded` series stay as they are."""
    if not seconds:
        return expression

    def older(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None or name in recorded:
            return found[0]
        already = int(found["offset"]) * _SECONDS[found["unit"]] if found["offset"] else 0
        return f"{name}{found['matchers'] or ''}{found['range'] or ''} offset {already + seconds}s"

    return _SELECTOR.sub(older, expression).replace("time()", f"(time() - {seconds})")


ORDERS: dict[str, Order] = {"reversed": reversed_order, "shuffled": shuffled, "in phases": in_phases}
"""What the incidents run in beside the order of the files."""
