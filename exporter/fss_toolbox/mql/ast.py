"""The parts of a Monitoring Query Language expression, frozen and printable.

Every node prints as MQL (`str(node)`), with parentheses only for precedence, so that `parse(str(node)) == node`. A node checks
interval, statistic and selector when built, so every existing tree can be sent. The grammar is Oracle's "Monitoring Query
Language (MQL) Reference" (read 2026-09-05).

    Expression = Constant | Query | Arithmetic | Comparison | Join
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from fss_exporter.errors import MqlError
from fss_exporter.oci.mql import DIMENSION, NAME, number

JoinOrder = Literal["&& binds tighter", "|| binds tighter", "read from left to right", "read from right to left"]
"""How a service reads `&&` and `||` without parentheses. No document says it. `doctor --record` finds it out."""

JOIN_LEVELS: Final[Mapping[JoinOrder, tuple[tuple[str, ...], ...]]] = {
    "&& binds tighter": (("||",), ("&&",)),
    "|| binds tighter": (("&&",), ("||",)),
    "read from left to right": (("&&", "||"),),
    "read from right to left": (("&&", "||"),),
}
"""Operators that join conditions, the loosest first."""

STATISTICS: Final = frozenset(
    {"absent", "avg", "count", "first", "increment", "last", "max", "mean", "min", "percentile", "rate", "sum"}
)
COMPARISONS: Final = (">", ">=", "<", "<=", "==", "!=")
RANGES: Final = ("in", "not in")
COMPARED: Final[tuple[str, ...]] = ()
"""The level of comparisons."""

LEVELS: Final = (("&&", "||"), COMPARED, ("+", "-"), ("*", "/", "%"))
"""Binary operators, the loosest first. Arithmetic binds as in every other language. The reference defines no order."""

_MINUTES: Final = {"m": 1, "h": 60, "d": 1440}
_INTERVALS: Final = {"m": range(1, 61), "h": range(1, 25), "d": range(1, 2)}


def _refuse(message: str, text: str) -> None:
    raise MqlError(message, query=text, column=1)


@dataclass(frozen=True, slots=True)
class Duration:
    """A count of minutes, hours or days: `5m`, `20h`, `3d`."""

    count: int
    unit: str

    @property
    def minutes(self) -> int:
        """The whole length in minutes."""
        return self.count * _MINUTES[self.unit]

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"


@dataclass(frozen=True, slots=True)
class Selector:
    """A condition on a dimension. `=` is exact. `=~` knows `*` (any run of characters) and `|` (or)."""

    dimension: str
    operator: str
    value: str

    def __post_init__(self) -> None:
        if not DIMENSION.fullmatch(self.dimension):
            _refuse("not the name of a dimension", self.dimension)
        if '"' in self.value or not self.value.isprintable():
            _refuse("the value of a dimension may hold no quote and no control character", self.value)

    def __str__(self) -> str:
        return f'{self.dimension} {self.operator} "{self.value}"'


@dataclass(frozen=True, slots=True)
class QueriedMetric:
    """The streams of one metric, cut into windows of `interval`."""

    name: str
    interval: Duration
    selectors: tuple[Selector, ...] = ()
    resource_group: str | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            _refuse("not the name of a metric", self.name)
        if self.resource_group is not None and not NAME.fullmatch(self.resource_group):
            _refuse("not the name of a resource group", self.resource_group)
        if self.interval.count not in _INTERVALS.get(self.interval.unit, ()):
            _refuse("an interval is 1m to 60m, 1h to 24h, or 1d", str(self.interval))

    def __str__(self) -> str:
        group = f"{self.resource_group}::" if self.resource_group else ""
        chosen = "{" + ", ".join(map(str, self.selectors)) + "}" if self.selectors else ""
        return f"{group}{self.name}[{self.interval}]{chosen}"


@dataclass(frozen=True, slots=True)
class Statistic:
    """The statistic of each window: `max()`, `percentile(0.9)` (0 < p < 1), `absent(20m)` (1m to 3d)."""

    name: str
    argument: float | Duration | None = None

    def __post_init__(self) -> None:
        if self.name not in STATISTICS:
            _refuse(f"no such statistic. Known are {', '.join(sorted(STATISTICS))}", self.name)
        if self.name == "percentile":
            if isinstance(self.argument, Duration) or self.argument is None or not 0 < self.argument < 1:
                _refuse("percentile takes a number between 0 and 1, as in percentile(0.9)", str(self))
        elif self.name == "absent" and isinstance(self.argument, Duration):
            if not 1 <= self.argument.minutes <= 3 * 1440:
                _refuse("the absence detection period is 1m to 3d", str(self))
        elif self.argument is not None:
            expected = "a period, as in absent(20m)" if self.name == "absent" else "no argument"
            _refuse(f"{self.name} takes {expected}", self.name)

    def __str__(self) -> str:
        if self.argument is None:
            return f"{self.name}()"
        text = str(self.argument) if isinstance(self.argument, Duration) else number(self.argument)
        return f"{self.name}({text})"


@dataclass(frozen=True, slots=True)
class Stage:
    """A statistic with an optional grouping before the statistic.

    `groupBy(a, b)` merges streams per value of the dimensions. Without dimensions, `grouping()` merges all.
    """

    statistic: Statistic
    group_by: tuple[str, ...] | None = None  # dimensions to keep apart; None keeps all

    def __post_init__(self) -> None:
        for dimension in self.group_by or ():
            if not DIMENSION.fullmatch(dimension):
                _refuse("not the name of a dimension", dimension)

    def __str__(self) -> str:
        if self.group_by is None:
            return str(self.statistic)
        grouping = f"groupBy({', '.join(self.group_by)})" if self.group_by else "grouping()"
        return f"{grouping}.{self.statistic}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: float

    def __str__(self) -> str:
        return number(self.value)


@dataclass(frozen=True, slots=True)
class Query:
    """Streams of a metric, or of a nested expression in parentheses, and the stages in order."""

    source: "QueriedMetric | Expression"
    stages: tuple[Stage, ...]

    def __str__(self) -> str:
        source = str(self.source) if isinstance(self.source, QueriedMetric) else f"({self.source})"
        return ".".join((source, *map(str, self.stages)))


@dataclass(frozen=True, slots=True)
class _Binary:
    """`left operator right`."""

    left: "Expression"
    operator: str
    right: "Expression"

    def __str__(self) -> str:
        mine = _level(self)  # type: ignore[arg-type]  # of one of the two classes below
        return f"{_within(self.left, mine)} {self.operator} {_within(self.right, mine + 1)}"


class Arithmetic(_Binary):
    """Values combined with a number by `+ - * / %`. Only metric against constant is documented."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The predicate: 1 for true, 0 for false. `in` and `not in` take two bounds, both inclusive."""

    left: "Expression"
    operator: str
    bounds: tuple[float, ...]

    def __str__(self) -> str:
        bounds = ", ".join(map(number, self.bounds))
        shown = f"({bounds})" if self.operator in RANGES else bounds
        return f"{_within(self.left, _level(self) + 1)} {self.operator} {shown}"


class Join(_Binary):
    """Two whole queries joined by `&&` or `||`. No document gives an order of the two, so a mixture has parentheses."""

    __slots__ = ()

    def __str__(self) -> str:
        left, right = (f"({side})" if isinstance(side, Join) else str(side) for side in (self.left, self.right))
        if isinstance(self.left, Join) and self.left.operator == self.operator:
            left = str(self.left)
        return f"{left} {self.operator} {right}"


Expression: TypeAlias = Constant | Query | Arithmetic | Comparison | Join


def _level(node: Expression) -> int:
    """Return how tight a node binds: a position in `LEVELS`, or the end for a node that needs no parentheses."""
    match node:
        case Join(operator=operator) | Arithmetic(operator=operator):
            return next(level for level, operators in enumerate(LEVELS) if operator in operators)
        case Comparison():
            return LEVELS.index(COMPARED)
        case _:
            return len(LEVELS)


def _within(node: Expression, least: int) -> str:
    return str(node) if _level(node) >= least else f"({node})"


def metrics(node: Expression) -> Iterator[QueriedMetric]:
    """Yield every metric an expression reads, from left to right."""
    for query in queries(node):
        if isinstance(query.source, QueriedMetric):
            yield query.source


def queries(node: Expression) -> Iterator[Query]:
    """Yield every query inside an expression, outer before inner, from left to right."""
    match node:
        case Query(source=source):
            yield node
            if not isinstance(source, QueriedMetric):
                yield from queries(source)
        case Arithmetic(left=left, right=right) | Join(left=left, right=right):
            yield from queries(left)
            yield from queries(right)
        case Comparison(left=left):
            yield from queries(left)
        case Constant():
            return


def is_trigger(node: Expression) -> bool:
    """Return whether an alarm can fire on the node: a predicate or an absence, alone or on both sides of every join."""
    match node:
        case Comparison():
            return True
        case Join(left=left, right=right):
            return is_trigger(left) and is_trigger(right)
        case Query(stages=stages):
            return stages[-1].statistic.name == "absent"
        case _:
            return False
