"""Parse MQL text to a tree by recursive descent, with a method for each line of the grammar. `expression` reads all binary operators.

    expression  := comparison ( ("&&" | "||") comparison )*
    comparison  := sum [ operator number | ["not"] "in" "(" number "," number ")" ]
    sum         := product ( ("+" | "-") product )*
    product     := operand ( ("*" | "/" | "%") operand )*
    operand     := number | metric stages | "(" expression ")" [ stages ]
    metric      := [ group "::" ] name "[" interval "]" [ "{" selector ( "," selector )* "}" ]
    selector    := dimension "=" ( string | word ) | dimension "=~" string
    stages      := ( "." [ grouping "." ] statistic )+

Every mistake is an `MqlError` with the column of the first unreadable character.
"""

import re
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from fss_exporter.errors import MqlError
from fss_exporter.oci.mql import DIMENSION, NAME
from fss_toolbox.mql import ast

T = TypeVar("T")

_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?![\w.])", re.ASCII)
_HOURS: Final = re.compile(r"([0-9]{1,3})(?=\s*\))", re.ASCII)
_DURATION: Final = re.compile(r"([0-9]{1,6})([mhd])\b", re.ASCII)
_STRING: Final = re.compile(r'"([^"]*)"')
_WORD: Final = re.compile(r'[^\s",{}]+')
"""A value without quotes. Source: "Selecting Dimensions for a Query", read 2026-11-26: only spaces and `=~` need quotes."""
_WORD_GOES_ON: Final = re.compile(r"\w")
_MOST_OPERATORS: Final = 64  # a tree is walked recursively; no query a person writes comes near


def parse(text: str, order: ast.JoinOrder | None = None) -> ast.Expression:
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
    if next(ast.metrics(node), None) is None:
        raise MqlError("a query names at least one metric", query=text, column=1)
    return node


class _Reader:
    """The position in a text, and a method for each rule of the grammar."""

    def __init__(self, text: str, order: ast.JoinOrder | None) -> None:
        self.text = text
        self.order = order
        self.levels = (*ast.JOIN_LEVELS[order], *ast.LEVELS[1:]) if order else ast.LEVELS
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
        """Return the longest of the words at the present position, or None."""
        start = self.skip_space()
        for word in sorted(words, key=len, reverse=True):
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

    def build(self, at: int, make: Callable[[], T]) -> T:
        """Build a node. A refusal of the node is a mistake at the position `at`."""
        try:
            return make()
        except MqlError as refused:
            self.fail(refused.reason, at)

    def operator(self, *words: str) -> str | None:
        """Return the binary operator at the present position. A tree too deep to walk is refused here as well."""
        start = self.skip_space()
        word = self.take(*words)
        self.operators += word is not None
        if self.operators > _MOST_OPERATORS:
            self.fail(f"more than {_MOST_OPERATORS} operators or parentheses", start)
        return word

    # -- rules

    def expression(self, level: int = 0) -> ast.Expression:
        """Read the operators of a level and of all tighter levels."""
        if level == len(self.levels):
            return self.operand()
        left = self.expression(level + 1)
        if self.levels[level] == ast.COMPARED:
            return self.comparison(left)
        if level < self.levels.index(ast.COMPARED):
            return self.join(left, level)
        while sign := self.operator(*self.levels[level]):
            left = ast.Arithmetic(left, sign, self.expression(level + 1))
        return left

    def join(self, left: ast.Expression, level: int) -> ast.Expression:
        """Read the conditions that a level of `&&` and `||` joins."""
        first = None
        while sign := self.operator(*self.levels[level]):
            first = first or sign
            if sign != first and self.order is None:
                self.fail("no document gives the order of && and ||: add parentheses", self.at - len(sign))
            right_first = self.order == "read from right to left"
            left = ast.Join(left, sign, self.expression(level if right_first else level + 1))
        return left

    def comparison(self, left: ast.Expression) -> ast.Expression:
        if sign := self.take(*ast.COMPARISONS):
            return ast.Comparison(left, sign, (self.number(),))
        negated = self.take("not")
        if self.take("in"):
            self.need("(", "in")
            low = self.number()
            self.need(",", "the lower bound")
            high = self.number()
            self.need(")", "the upper bound")
            return ast.Comparison(left, "not in" if negated else "in", (low, high))
        if negated:
            self.fail("expected in after not")
        return left

    def operand(self) -> ast.Expression:
        if self.operator("("):
            inner = self.expression()
            self.need(")", "a nested query")
            return ast.Query(inner, self.several(self.stage, ".")) if self.take(".") else inner
        if constant := _NUMBER.match(self.text, self.skip_space()):
            self.at = constant.end()
            return ast.Constant(float(constant.group()))
        metric = self.metric()
        self.need(".", f"{metric}, with a statistic as in .mean()")
        return ast.Query(metric, self.several(self.stage, "."))

    def number(self) -> float:
        return float(self.match(_NUMBER, "a number").group())

    def metric(self) -> ast.QueriedMetric:
        start = self.skip_space()
        name = self.match(NAME, "a metric, a number or a nested query in parentheses").group()
        group = None
        if self.take("::"):
            group, name = name, self.match(NAME, "a metric after the resource group").group()
        self.need("[", f"{name}, with an interval as in [5m]")
        interval = self.duration("an interval as in 5m")
        self.need("]", "the interval")
        selectors = self.selectors()
        return self.build(
            start + self.text[start:].find("[") + 1, lambda: ast.QueriedMetric(name, interval, selectors, group)
        )

    def duration(self, expected: str) -> ast.Duration:
        match = self.match(_DURATION, expected)
        return ast.Duration(int(match[1]), match[2])

    def selectors(self) -> tuple[ast.Selector, ...]:
        if not self.take("{"):
            return ()
        chosen = self.several(self.selector)
        self.need("}", "the selector")
        return chosen

    def selector(self) -> ast.Selector:
        dimension = self.dimension()
        sign = self.take("=~", "=")
        if sign is None:
            self.fail("expected = or =~ (dimensions have no other operator)")
        start = self.skip_space()
        if self.text.startswith('"', start):
            value = self.match(_STRING, "a value in double quotes")[1]
        elif sign == "=":
            value = self.match(_WORD, "a value").group()
        else:
            self.fail("expected a value in double quotes, because =~ needs them")
        return self.build(start, lambda: ast.Selector(dimension, sign, value))

    def stage(self) -> ast.Stage:
        word = self.take("groupBy", "grouping")
        if word is None:
            return ast.Stage(self.statistic())
        self.need("(", word)
        dimensions = self.several(self.dimension) if word == "groupBy" else ()
        self.need(")", "the grouping")
        self.need(".", "the grouping, with a statistic as in .max()")
        return ast.Stage(self.statistic(), dimensions)

    def absence_period(self) -> ast.Duration:
        """Read a period. A bare number is hours. Source: "Specifying a Predicate in a Query", Example 7, `absent(20)`."""
        hours = _HOURS.match(self.text, self.skip_space())
        if hours is None:
            return self.duration("a period as in 20m, or )")
        self.at = hours.end()
        return ast.Duration(int(hours[1]), "h")

    def dimension(self) -> str:
        return self.match(DIMENSION, "the name of a dimension").group()

    def several(self, read: Callable[[], T], separator: str = ",") -> tuple[T, ...]:
        items = [read()]
        while self.take(separator):
            items.append(read())
        return tuple(items)

    def statistic(self) -> ast.Statistic:
        start = self.skip_space()
        name = self.match(NAME, "a statistic").group()
        self.build(start, lambda: ast.Statistic(name, 0.5 if name == "percentile" else None))
        self.need("(", name)
        inside = self.skip_space()
        argument: float | ast.Duration | None = None
        if not self.take(")"):
            argument = self.number() if name == "percentile" else self.absence_period()
            self.need(")", "the argument")
        return self.build(inside, lambda: ast.Statistic(name, argument))
