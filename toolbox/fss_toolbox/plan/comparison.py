# SPDX-License-Identifier: Apache-2.0
"""The table of options of `plan --compare`: shapes and Lustre sizes for one load, with price and date."""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from importlib.resources import files
from typing import Any

from fss_exporter.errors import UsageError
from fss_exporter.model.service_table import TB, TIB
from fss_toolbox import printed
from fss_toolbox.plan.answer import Section
from fss_toolbox.plan.load import Load
from fss_toolbox.sizing.growth import LEAST_DAYS
from fss_toolbox.sizing.options import OPTIONS, Option, Price
from fss_toolbox.tables import Column, Figure, colour, figure_table, keyed


def _name(option: Option) -> str:
    size = "" if option.capacity_bytes is None else f", {option.capacity_bytes / TIB:,.1f} TiB"
    return f"{option.count} x {option.name}{size}"


def _share(option: Option) -> float | None:
    return option.binds.ratio if option.binds else None


def _printed(form: str) -> Callable[[Any], str]:
    """Return how to print a value in a format, with a dash for an unknown one."""
    return lambda value: printed.NOT_KNOWN if value is None else form.format(value)


def _money(option: Option) -> str:
    """Return what the bill grows by, or the most that it can grow by where the stored data are not known."""
    if option.extra_usd_per_month is not None:
        return f"{option.extra_usd_per_month:,.0f}"
    if option.usd_per_month is None:
        return printed.NOT_KNOWN
    return f"up to {option.usd_per_month:,.0f}" if option.usd_per_month else "0"


_FIGURES = (
    Figure(Column("option", left=True), _name),
    Figure(None, lambda option: option.name, key="option"),
    Figure(None, lambda option: option.count, key="count"),
    Figure(None, lambda option: option.capacity_bytes, key="capacity_bytes"),
    Figure(Column("share"), _share, printed.percent, "share"),
    Figure(
        Column("fits", left=True),
        lambda option: option.fits,
        lambda fits: {True: "yes", False: "no", None: "not known"}[fits],
        "fits",
    ),
    Figure(
        Column("binds first", 2, left=True),
        lambda option: option.binds.resource if option.binds else None,
        lambda resource: resource.partition(",")[0] if resource else printed.NOT_KNOWN,
        "binds_first",
    ),
    Figure(None, lambda option: list(option.unknown), key="unpublished"),
    Figure(Column("allowed", 3), lambda option: option.service_limit, _printed("{}"), "default_service_limit"),
    Figure(
        Column("paid for", 4),
        lambda option: option.commitment_days,
        lambda days: f"{days} days" if days else printed.NOT_KNOWN,
        "commitment_days",
    ),
    Figure(Column("extra USD a month"), lambda option: option, _money),
    Figure(None, lambda option: option.extra_usd_per_month, key="extra_usd_per_month"),
    Figure(None, lambda option: option.usd_per_month, key="usd_per_month"),
    Figure(None, lambda option: option.price and option.price.source, key="price_source"),
    Figure(None, lambda option: option.price and option.price.date, key="price_date"),
    Figure(Column("full on", 1), lambda option: option.full_on and f"{option.full_on}", _printed("{}"), "full_on"),
)


_MOST_USD = 1e12  # Larger prices are typing errors


def shipped_prices() -> dict[str, Price]:
    """Return the prices that the project ships."""
    return parse_prices("prices.toml", files("fss_toolbox.plan").joinpath("prices.toml").read_text(encoding="utf-8"))


def parse_prices(name: str, text: str) -> dict[str, Price]:
    """Return prices by option from the text of a TOML file.

    Raises:
        UsageError: the text is not such a file. The message names the file and the option.
    """
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # no TOML, or an integer of too many digits
        raise UsageError(f"{name}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{name}: nested too deeply for a table of prices") from error
    return {option: _price(f"{name}: [{option}]", option, table) for option, table in document.items()}


def _price(where: str, option: str, table: Any) -> Price:
    if not isinstance(table, dict):
        raise UsageError(f"{where}: not a table. Write [hpmt-20] and below usd_per_gb, source and date")
    if option not in OPTIONS:
        raise UsageError(f"{where}: no such option. There are {', '.join(OPTIONS)}")
    if table.keys() != {"usd_per_gb", "source", "date"} or not isinstance(table["source"], str):
        raise UsageError(f"{where}: give usd_per_gb, source and date, and nothing else")
    amount = table["usd_per_gb"]
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount <= _MOST_USD:
        raise UsageError(f"{where}: usd_per_gb is not an amount from 0 to {_MOST_USD:,.0f}")
    try:
        read_on = date.fromisoformat(str(table.get("date")))
    except ValueError as error:
        raise UsageError(f"{where}: date is not a day like 2026-11-24") from error
    return Price(float(amount), table["source"], read_on.isoformat())


def option_sections(options: Sequence[Option], load: Load) -> Iterator[Section]:
    """Yield the table, and what the prices and dates rest on."""
    title = f"What carries this load at {printed.percent(options[0].target)} of every ceiling"
    yield Section(title, *figure_table(_FIGURES, options, _style))
    yield Section(sentences=list(_notes(options, load)))


def _style(option: Option) -> str:
    return colour(_share(option))


def _notes(options: Sequence[Option], load: Load) -> Iterator[str]:
    above = [
        f"{option.count} x {option.name}"
        for option in options
        if option.service_limit is not None and option.count > option.service_limit
    ]
    if above:
        yield f"needs a higher service limit first: {', '.join(above)}"
    unknown: dict[str, list[str]] = {}
    for option in options:
        if option.fits is None:
            resources = ", ".join(option.unknown)
            why = f"no document states {resources} of" if resources else "the IOPS of the load are not known:"
            unknown.setdefault(why, []).append(option.name)
    for why, names in unknown.items():
        yield f"not known whether it fits: {why} {', '.join(names)}"
    yield f"extra USD: {_billed(options)}"
    yield f"full on: {_history(load)}"
    for source, read_on in sorted({(option.price.source, option.price.date) for option in options if option.price}):
        yield f"price: {source} ({read_on})"
    unpriced = [option.name for option in options if option.usd_per_month is None]
    if unpriced:
        yield f"no price known for {', '.join(dict.fromkeys(unpriced))}: give yours with --prices FILE"


def _billed(options: Sequence[Option]) -> str:
    bill = next((option.bill for option in options if option.bill), None)
    rule = "of stored data and entitlement, the larger is billed in an availability domain"
    if bill is None:
        return f"at most, because {rule}, and the stored data are not known. State them with --stored"
    entitled = f"{bill.entitled_bytes / TB:,.1f} TB" if bill.entitled_bytes else "nothing"
    return f"{rule}. Today {bill.stored_bytes / TB:,.1f} TB are stored there and {entitled} is entitled"


def _history(load: Load) -> str:
    if not load.days:
        return "not known, because this load has no history"
    if not load.growth:
        return f"not known, because Prometheus has {load.days} {'day' if load.days == 1 else 'days'} of this mount target and a trend needs {LEAST_DAYS}"
    return (
        f"a straight line through the busiest five minutes of each of {load.days} days. No date: the line does not rise,"
        " or not within ten years"
    )


def options_document(options: Sequence[Option]) -> list[dict[str, Any]]:
    """Return the options as JSON. Schema: docs/schemas/plan.json."""
    return [keyed(_FIGURES, option) for option in options]
