# SPDX-License-Identifier: Apache-2.0
"""Convert the rows of the status page to HTML. No other module uses Jinja2 or formats numbers for people.

Autoescape protects against hostile text from outside (display names, export paths, the search). The page has a single
script that loads the page again.
"""

import math
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fss_exporter import __version__, durations
from fss_exporter.model.operations import FIXED_COSTS, read_io_operations
from fss_exporter.model.state import State, whole_percent
from fss_exporter.model.thresholds import CRITICAL_RATIO
from fss_exporter.served_states import SEES_NO_HANG
from fss_exporter.web.status.rows import Quantity, StatusPage, Usage
from fss_exporter.web.status.style import SCRIPT, STYLE

_ROWS_ON_A_PAGE = 25


def render(
    page: StatusPage, *, telemetry_path: str = "/metrics", host: str = "", search: str = "", number: int = 1
) -> str:
    """Return one page of 25 mount targets with the search text, and everything else, as an HTML document."""
    matching = page.matching(search)
    pages = max(1, -(-len(matching) // _ROWS_ON_A_PAGE))
    number = min(max(number, 1), pages)
    return _ENVIRONMENT.get_template("status.html").render(
        page=page,
        telemetry_path=telemetry_path,
        host=host,
        search=search,
        matching=matching,
        shown=matching[(number - 1) * _ROWS_ON_A_PAGE : number * _ROWS_ON_A_PAGE],
        number=number,
        pages=pages,
        rows_on_a_page=_ROWS_ON_A_PAGE,
        sees_no_hang=SEES_NO_HANG,
    )


def count(value: float) -> str:
    """Return a number of operations or connections as text: `46,210`, with one decimal below 10."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def bandwidth(value: float) -> str:
    """Return bytes per second as text with powers of ten, as ceilings are published: `812 MB/s`."""
    return _scaled(value, ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")), "B/s")


def seconds(value: float | None) -> str:
    """A latency: `12.3 ms`. Empty if it is not known."""
    return "" if value is None else _scaled(value, ((1, "s"), (1e-3, "ms")), "µs", 1e-6)


def at_most(edge: float | None) -> str:
    """Return the upper edge of a class of durations as `≤ 8.19 ms`. Infinity is the class above all edges."""
    if edge is None:
        return ""
    return "above all classes" if math.isinf(edge) else f"≤ {seconds(edge)}"


def _scaled(value: float, steps: tuple[tuple[float, str], ...], last: str, last_step: float = 1.0) -> str:
    step, unit = next(((step, unit) for step, unit in steps if value >= step), (last_step, last))
    scaled = value / step
    return f"{scaled:.0f} {unit}" if scaled >= 100 or scaled == int(scaled) else f"{scaled:.3g} {unit}"


def percent(ratio: float) -> str:
    """Return a share as `92 %`. A share below a threshold is never rounded up to the threshold."""
    return "<1 %" if 0 < ratio < 0.01 else f"{whole_percent(ratio)} %"


def share(usage: Usage) -> str:
    """Return the share of the ceiling as far as it is known: `92 %`, `about 9 % (8 to 11 %)`, or `91 %, 31 minutes old`."""
    of_ceiling = usage.figure.share_of(usage.limit).in_words(percent) if usage.limit else ""
    if not usage.is_old:
        return of_ceiling
    seconds_old = usage.figure.age_seconds
    return f"{of_ceiling}, {'age unknown' if seconds_old is None else f'{seconds_old / 60:.0f} minutes old'}"


_OF_QUANTITY = {
    Quantity.IOPS: count,
    Quantity.READ: bandwidth,
    Quantity.WRITE: bandwidth,
    Quantity.BOTH: bandwidth,
    Quantity.LATENCY: seconds,
    Quantity.CONNECTIONS: count,
}


def amount(value: float, quantity: Quantity) -> str:
    """Return a value in the unit of the quantity."""
    return _OF_QUANTITY[quantity](value)


_CLASSES: Final = {State.FINE: "fine", State.NOT_KNOWN: "unknown", State.NEAR: "warning"}


def in_words(usage: Usage) -> str:
    """Return the value as far as it is known: `4,000`, `about 4,000 (3,800 to 4,200)`, or `at least 812 MB/s`."""
    return usage.figure.in_words(_OF_QUANTITY[usage.quantity])


def state_class(state: State) -> str:
    """Return the class of a state in the style sheet. States that users feel are critical."""
    return _CLASSES.get(state, "critical")


def bar_width(value: float, usage: Usage) -> str:
    """Width in per cent of the bar: `value` against the ceiling of `usage`, at most the whole bar."""
    return f"{min(100.0, 100.0 * value / usage.limit):.1f}" if usage.limit else "0"


_ENVIRONMENT: Final = Environment(
    loader=PackageLoader("fss_exporter.web", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    age=durations.in_words,
    amount=amount,
    at_most=at_most,
    bandwidth=bandwidth,
    bar_width=bar_width,
    count=count,
    in_words=in_words,
    percent=percent,
    seconds=seconds,
    share=share,
    state_class=state_class,
)
_ENVIRONMENT.globals.update(
    version=__version__,
    State=State,
    Quantity=Quantity,
    bars=(Quantity.IOPS, Quantity.READ, Quantity.WRITE, Quantity.LATENCY),
    style=Markup(STYLE),  # noqa: S704  our own file, not input
    script=Markup(SCRIPT),  # noqa: S704  as above
    critical=100 * CRITICAL_RATIO,
    rename_cost=FIXED_COSTS["RENAME"],
    large_read_cost=read_io_operations(1 << 20),
)
