# SPDX-License-Identifier: Apache-2.0
"""Read the Monitoring Query Language: `parse(text)` returns a tree of frozen records. Pure.

    expression  := comparison ( ("&&" | "||") comparison )*
    comparison  := sum [ operator number | ["not"] "in" "(" number "," number ")" ]
    sum         := product ( ("+" | "-") product )*
    product     := operand ( ("*" | "/" | "%") operand )*
    operand     := number | metric stages | "(" expression ")" [ stages ]
    metric      := [ group "::" ] name "[" interval "]" [ "{" selector ( "," selector )* "}" ]
    selector    := dimension "=" ( string | word ) | dimension "=~" string
    stages      := ( "." [ grouping "." ] statistic )+

Source: Oracle, "Monitoring Query Language (MQL) Reference", read 2026-09-05. It defines no order of binary operators. Arithmetic
binds as in every other language. Every mistake is an `MqlError` with the column of the first unreadable character.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isinf
from typing import Final, Literal, NoReturn, TypeAlias, TypeVar

from fss_exporter.errors import MqlError
from fss_exporter.oci.mql_writer import DIMENSION, NAME

T = TypeVar("T")

# How a service reads `&&` and `||` without parentheses. No document says it. `doctor --record` finds it out.
JoinOrder = Literal["&& binds tighter", "|| binds tighter", "read from left to right", "read from right to left"]

UNIT_MINUTES: Final = {"m": 1, "h": 60, "d": 1440}
_LONGEST_INTERVAL: Final = {"m": 60, "h": 24, "d": 1}
_LONGEST_ABSENCE: Final = 3 * 1440

# Operators that join conditions, the loosest first.
_JOIN_LEVELS: Final[Mapping[JoinOrder | None, tuple[tuple[str, ...], ...]]] = {
    "&& binds tighter": (("||",), ("&&",)),
    "|| binds tighter": (("&&",), ("||",)),
    "read from left to right": (("&&", "||"),),
    "read from right to left": (("&&", "||"),),
    None: (("&&", "||"),),
}

_COMPARISONS: Final = (">=", "<=", "==", "!=", ">", "<")
_STATISTICS: Final = frozenset(
    {"absent", "avg", "count", "first", "increment", "last", "max", "mean", "min", "percentile", "rate", "sum"}
)

_GROUPINGS: Final = ("groupBy", "grouping")
_MEANT: Final = {word.lower(): word for word in (*_STATISTICS, *_GROUPINGS)}

_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?![\w.])", re.ASCII)
_HOURS: Final = re.compile(r"([0-9]{1,3})(?=\s*\))", re.ASCII)
_DURATION: Final = re.compile(r"([0-9]{1,6})([mhd])\b", re.ASCII)
_STRING: Final = re.compile(r'"([^"]*)"')

# A value without quotes. Source: "Selecting Dimensions for a Query", read 2026-11-26: only spaces and `=~` need quotes.
_WORD: Final = re.compile(r'[^\s",{}]+')

_WORD_GOES_ON: Final = re.compile(r"\w")
_MOST_OPERATORS: Final = 64  # a tree is walked recursively; no query a person writes comes near


@dataclass(frozen=True, slots=True)
class Selector:
    """A condition on a dimension. `=` is exact. `=~` knows `*` (any run of characters) and `|` (or)."""

    dimension: str
    operator: str
    value: str


@dataclass(frozen=True, slots=True)
class QueriedMetric:
    """The streams of one metric, cut into windows of an interval."""

    name: str
    interval_minutes: int
    selectors: tuple[Selector, ...] = ()
    resource_group: str | None = None


@dataclass(frozen=True, slots=True)
class Statistic:
    """The statistic of each window.

    `percentile` has a share between 0 and 1 as argument. `absent` may have the absence detection period, minutes.
    """

    name: str
    argument: float | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """A statistic with an optional grouping before the statistic.

    `groupBy(a, b)` merges streams per value of the dimensions. Without dimensions, `grouping()` merges all.
    """

    statistic: Statistic
    group_by: tuple[str, ...] | None = None  # dimensions to keep apart; None keeps all


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Query:
    """Streams of a metric, or of a nested expression in parentheses, and the stages in order."""

    source: "QueriedMetric | Expression"
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Values combined with a number by `+ - * / %`. Only metric against constant is documented."""

    left: "Expression"
    operator: str
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The predicate: 1 for true, 0 for false. `in` and `not in` take two bounds, both inclusive."""

    left: "Expression"
    operator: str
    bounds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Two conditions joined by `&&` or `||`."""

    left: "Expression"
    operator: str
    right: "Expression"


Expression: TypeAlias = Constant | Query | Arithmetic | Comparison | Join


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


def parse(text: str, order: JoinOrder | None = None) -> Expression:
    """Parse an MQL expression.

    Args:
        text: the expression.
        order: how the service reads a mixture of `&&` and `||` without parentheses. None refuses a mixture.

    Raises:
        MqlError: the text is invalid. `column` is the 1-based column of the first unreadable character.
    """
    reader = _Reader(text, order)
    node = reader.expression()
    if reader.skip_space() < len(text):
        reader.fail("expected an operator (> >= < <= == != in, + - * / %, && ||) or the end")
    if next(metrics(node), None) is None:
        reader.fail("a query names at least one metric", 0)
    return node


class _Reader:
    """The position in a text, and a method for each line of the grammar."""

    def __init__(self, text: str, order: JoinOrder | None) -> None:
        self.text = text
        self.order = order
        self.at = 0
        self.operators = 0

    # -- words

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        raise MqlError(message, query=self.text, column=(self.at if at is None else at) + 1)

    def skip_space(self) -> int:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.at

    def take(self, *words: str) -> str | None:
        """Return the first of the words that stands at the present position, or None."""
        start = self.skip_space()
        for word in words:
            end = start + len(word)
            if self.text.startswith(word, start) and not (word.isalpha() and _WORD_GOES_ON.match(self.text, end)):
                self.at = end
                return word
        return None

    def need(self, word: str, after: str) -> None:
        if self.take(word) is None:
            self.fail(f"expected {word} after {after}")

    def match(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        match = pattern.match(self.text, self.skip_space())
        if match is None:
            self.fail(f"expected {expected}")
        self.at = match.end()
        return match

    def operator(self, *words: str) -> str | None:
        """Return the binary operator at the present position. A tree too deep to walk is refused here as well."""
        start = self.skip_space()
        word = self.take(*words)
        self.operators += word is not None
        if self.operators > _MOST_OPERATORS:
            self.fail(f"more than {_MOST_OPERATORS} operators or parentheses", start)
        return word

    def several(self, read: Callable[[], T], separator: str = ",") -> tuple[T, ...]:
        items = [read()]
        while self.take(separator):
            items.append(read())
        return tuple(items)

    # -- rules

    def expression(self) -> Expression:
        return self.joined(_JOIN_LEVELS[self.order])

    def joined(self, levels: tuple[tuple[str, ...], ...]) -> Expression:
        """Read conditions that the operators of these levels join."""
        if not levels:
            return self.comparison()
        signs, *tighter = levels
        right_first = self.order == "read from right to left"
        left = self.joined(tuple(tighter))
        first = None
        while sign := self.operator(*signs):
            first = first or sign
            if sign != first and self.order is None:
                self.fail("no document gives the order of && and ||: add parentheses", self.at - len(sign))
            left = Join(left, sign, self.joined(levels if right_first else tuple(tighter)))
        return left

    def comparison(self) -> Expression:
        left = self.sum()
        if sign := self.take(*_COMPARISONS):
            return Comparison(left, sign, (self.number(),))
        negated = self.take("not")
        if self.take("in"):
            self.need("(", "in")
            low = self.number()
            self.need(",", "the lower bound")
            high = self.number()
            self.need(")", "the upper bound")
            return Comparison(left, "not in" if negated else "in", (low, high))
        if negated:
            self.fail("expected in after not")
        return left

    def sum(self) -> Expression:
        return self.arithmetic(("+", "-"), self.product)

    def product(self) -> Expression:
        return self.arithmetic(("*", "/", "%"), self.operand)

    def arithmetic(self, signs: tuple[str, ...], operand: Callable[[], Expression]) -> Expression:
        left = operand()
        while sign := self.operator(*signs):
            left = Arithmetic(left, sign, operand())
        return left

    def operand(self) -> Expression:
        if self.operator("("):
            inner = self.expression()
            self.need(")", "a nested query")
            return Query(inner, self.stages()) if self.take(".") else inner
        start = self.skip_space()
        if _NUMBER.match(self.text, start):
            return Constant(self.number())
        metric = self.metric()
        self.need(".", f"{self.text[start : self.at]}, with a statistic as in .mean()")
        return Query(metric, self.stages())

    def number(self) -> float:
        start = self.skip_space()
        value = float(self.match(_NUMBER, "a number").group())
        if isinf(value):
            self.fail("the number is too large", start)
        return value

    def metric(self) -> QueriedMetric:
        name = self.match(NAME, "a metric, a number or a nested query in parentheses").group()
        group = None
        if self.take("::"):
            group, name = name, self.match(NAME, "a metric after the resource group").group()
        self.need("[", f"{name}, with an interval as in [5m]")
        interval = self.interval()
        self.need("]", "the interval")
        selectors: tuple[Selector, ...] = ()
        if self.take("{"):
            selectors = self.several(self.selector)
            self.need("}", "the selector")
        return QueriedMetric(name, interval, selectors, group)

    def interval(self) -> int:
        """Read an interval, in minutes."""
        start = self.skip_space()
        count, unit = self.duration("an interval as in 5m")
        if not 1 <= count <= _LONGEST_INTERVAL[unit]:
            self.fail("an interval is 1m to 60m, 1h to 24h, or 1d", start)
        return count * UNIT_MINUTES[unit]

    def duration(self, expected: str) -> tuple[int, str]:
        count, unit = self.match(_DURATION, expected).groups()
        return int(count), unit

    def selector(self) -> Selector:
        dimension = self.dimension()
        sign = self.take("=~", "=")
        if sign is None:
            self.fail("expected = or =~ (dimensions have no other operator)")
        start = self.skip_space()
        if self.text.startswith("'", start):
            self.fail(
                "expected a value in double quotes: single quotes would be a part of the value, and nothing matches it"
            )
        if self.text.startswith('"', start):
            value = self.match(_STRING, "a value in double quotes")[1]
        elif sign == "=":
            value = self.match(_WORD, "a value").group()
        else:
            self.fail("expected a value in double quotes, because =~ needs them")
        if not value.isprintable():
            self.fail("the value of a dimension may hold no control character", start)
        return Selector(dimension, sign, value)

    def dimension(self) -> str:
        return self.match(DIMENSION, "the name of a dimension").group()

    def stages(self) -> tuple[Stage, ...]:
        return self.several(self.stage, ".")

    def stage(self) -> Stage:
        word = self.take(*_GROUPINGS)
        if word is None:
            return Stage(self.statistic())
        self.need("(", word)
        dimensions = self.several(self.dimension) if word == "groupBy" else ()
        self.need(")", "the grouping")
        self.need(".", "the grouping, with a statistic as in .max()")
        return Stage(self.statistic(), dimensions)

    def statistic(self) -> Statistic:
        """Read a statistic. Names have the case of the reference."""
        start = self.skip_space()
        name = self.match(NAME, "a statistic").group()
        if name not in _STATISTICS and (meant := _MEANT.get(name.lower())):
            self.fail(f"no such statistic. Did you mean {meant}?", start)
        if name not in _STATISTICS:
            self.fail(f"no such statistic. Known are {', '.join(sorted(_STATISTICS))}", start)
        self.need("(", name)
        if name == "percentile":
            argument: float | None = self.share()
        elif self.take(")"):
            return Statistic(name)
        elif name == "absent":
            argument = self.absence_period()
        else:
            self.fail(f"expected ), because {name} takes no argument")
        self.need(")", "the argument")
        return Statistic(name, argument)

    def share(self) -> float:
        start = self.skip_space()
        number = _NUMBER.match(self.text, start)
        if number is None or not 0 < float(number.group()) < 1:
            self.fail("percentile takes a number between 0 and 1, as in percentile(0.9)")
        self.at = number.end()
        return float(number.group())

    def absence_period(self) -> int:
        """Read a period, in minutes. A bare number is hours: "Specifying a Predicate in a Query", Example 7, `absent(20)`."""
        start = self.skip_space()
        if hours := _HOURS.match(self.text, start):
            self.at = hours.end()
            count, unit = int(hours[1]), "h"
        else:
            count, unit = self.duration("a period as in 20m, or )")
        minutes = count * UNIT_MINUTES[unit]
        if not 1 <= minutes <= _LONGEST_ABSENCE:
            self.fail("the absence detection period is 1m to 3d", start)
        return minutes
