"""What a drawn dashboard shows, judged: each rule returns complaints, an empty list where the rule holds."""

import itertools
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

MOST_SERIES = 12
MOST_DECIMALS = 2
MOST_DIGITS = 5

_RAW_BUCKET = re.compile(r"\d+(B|KiB|MiB)_to_")
_RAW_WORDS = re.compile(r"(read|write)_bandwidth|metadata_(read|write)|peak_iops")
_NUMBER = re.compile(r"-?[\d.,]+")


@dataclass(frozen=True)
class Drawn:
    """The report of one drawn dashboard."""

    report: Json

    @property
    def uid(self) -> str:
        return str(self.report["uid"])

    def panels(self, *types: str) -> Iterator[Json]:
        for panel in self.report["panels"]:
            if not types or panel["type"] in types:
                yield panel

    def columns(self) -> Iterator[tuple[Json, Json]]:
        """Every column in sight, with its panel."""
        for panel in self.panels("table"):
            for column in panel["columns"]:
                if not column["hidden"]:
                    yield panel, column


def overrides_without_effect(drawn: Drawn) -> list[str]:
    return [f"{panel['title']}: {useless}" for panel in drawn.panels() for useless in panel["uselessOverrides"]]


def numbers_in_place_of_labels(drawn: Drawn) -> list[str]:
    """A value without a unit: the 1 of an info metric, or a label hidden behind a query of the same name."""
    return [
        f"{panel['title']}: column {column['name']} shows {column['texts'][:1]}"
        for panel, column in drawn.columns()
        if column["type"] == "number" and column["unit"] in {None, "string"}
    ]


Shown = tuple[str, str | None, int, str]  # place, unit, decimals and text of a number


def _values(drawn: Drawn) -> Iterator[Shown]:
    """Every number that is shown."""
    for panel in drawn.panels("stat"):
        for stat in panel["stats"]:
            if not stat["missing"]:
                yield panel["title"], stat["unit"], stat["decimals"], stat["text"]
    for panel in drawn.panels("timeseries"):
        for line in panel["lines"]:
            for text in line["shown"]:
                yield f"{panel['title']}, {line['name']}", line["unit"], line["decimals"], text
    yield from _cells(drawn)


def _cells(drawn: Drawn) -> Iterator[Shown]:
    for panel, column in drawn.columns():
        for text, missing in zip(column["texts"], column["missing"], strict=True):
            if column["type"] == "number" and not missing:
                yield f"{panel['title']}, {column['name']}", column["unit"], column["decimals"], text


def values_without_unit(drawn: Drawn) -> list[str]:
    return [f"{place}: {text}" for place, unit, _, text in _values(drawn) if unit in {None, "string"}]


def values_with_too_many_digits(drawn: Drawn) -> list[str]:
    return [
        f"{place}: {text}"
        for place, _, decimals, text in _values(drawn)
        if decimals > MOST_DECIMALS
        or ((number := _NUMBER.search(text)) and sum(map(str.isdigit, number[0])) > MOST_DIGITS)
    ]


def raw_legends(drawn: Drawn) -> list[str]:
    return [
        f"{panel['title']}: {line['name']!r}"
        for panel in drawn.panels("timeseries")
        for line in panel["lines"]
        if not line["name"].strip()
        or "{" in line["name"]
        or _RAW_BUCKET.search(line["name"])
        or _RAW_WORDS.search(line["name"])
    ]


def cut_titles(drawn: Drawn) -> list[str]:
    return [panel["title"] for panel in drawn.panels() if panel["titleCut"]]


def cut_columns(drawn: Drawn) -> list[str]:
    return [
        f"{panel['title']}: {panel['headingsCut'] or 'columns out of sight'}"
        for panel in drawn.panels("table")
        if panel["headingsCut"] or panel["columnsOutOfSight"]
    ]


def crowded_panels(drawn: Drawn) -> list[str]:
    return [
        f"{panel['title']}: {len(panel['lines'])} series"
        for panel in drawn.panels("timeseries")
        if len(panel["lines"]) > MOST_SERIES
    ]


def empty_panels(drawn: Drawn) -> list[str]:
    return [panel["title"] for panel in drawn.panels() if panel["empty"]]


def green_without_data(drawn: Drawn) -> list[str]:
    green = drawn.report["green"].lower()
    stats = [
        panel["title"]
        for panel in drawn.panels("stat")
        for stat in panel["stats"]
        if stat["missing"] and (stat["color"].lower() == green or stat["text"] != "no data")
    ]
    cells = [
        f"{panel['title']}, {column['name']}"
        for panel, column in drawn.columns()
        if column["coloured"]
        for color, missing in zip(column["colors"], column["missing"], strict=True)
        if missing and (color or "").lower() == green
    ]
    return stats + cells


_NEEDED = {"fss-mount-target": {"var-mount_target"}, "fss-clients": {"var-address", "var-client"}}
_DASHBOARDS = {"fss-clients", "fss-exporter", "fss-file-systems", "fss-fleet", "fss-mount-target"}

# The runbook of an exporter, and the console of OCI.
_OUTSIDE = (
    re.compile(r"http://[\w.-]+:\d+/runbook#Fss\w+"),
    re.compile(r"https://cloud\.oracle\.com/fss/(mount-targets|file-systems)/ocid1\.[\w.-]+\?region=[\w-]+"),
)


def links_to_nothing(drawn: Drawn) -> list[str]:
    """A link must lead to a dashboard of the pack, and name what that dashboard shows; a missing value has no link."""
    return [
        f"{panel['title']}, {column['name']} {text!r}: {link}"
        for panel, column in drawn.columns()
        for text, missing, links in zip(column["texts"], column["missing"], column["links"], strict=True)
        for link in links
        if missing or text in {"", "-"} or not _leads_somewhere(link)
    ]


def _leads_somewhere(link: str) -> bool:
    if any(outside.fullmatch(link) for outside in _OUTSIDE):
        return True
    address = urllib.parse.urlsplit(link)
    uid = address.path.removeprefix("/d/")
    chosen = urllib.parse.parse_qs(address.query)
    return uid in _DASHBOARDS and "${" not in link and not _NEEDED.get(uid, chosen.keys()).isdisjoint(chosen)


def annotations_without_subject(drawn: Drawn) -> list[str]:
    return [mark["title"] for mark in drawn.report["annotations"] if len(mark["title"].split()) < 2]


_VERDICTS = {"green", "yellow", "orange", "red", "thresholds"}
_OF_A_VERDICT = re.compile("fine|slow|failing|hanging")


def lines_in_colours_of_a_verdict(drawn: Drawn) -> list[str]:
    """Green, orange and red say how things are where a panel gives them. The palette of Grafana has them too, and says nothing by them."""
    return [
        f"{panel['title']}: {line['name']} is {line['color']}"
        for panel in drawn.panels("timeseries")
        for line in panel["lines"]
        if line["color"] in _VERDICTS and not line["dashed"] and not _OF_A_VERDICT.search(line["name"])
    ]


MOST_COLOURS = 8


def lines_of_one_colour(drawn: Drawn) -> list[str]:
    """Of up to eight lines each has its own colour. A dashed line, or one that the legend leaves out, belongs to another line."""
    return [
        f"{panel['title']}: {name} and {other} are {colour}"
        for panel in drawn.panels("timeseries")
        for lines in (
            [(line["name"], line["seen"]) for line in panel["lines"] if line["legend"] and not line["dashed"]],
        )
        if len(lines) <= MOST_COLOURS
        for (name, colour), (other, of_other) in itertools.combinations(lines, 2)
        if colour == of_other
    ]


LEAST_ROWS = 8


def short_legends(drawn: Drawn) -> list[str]:
    """A legend shows all names, or eight."""
    return [
        f"{panel['title']}: {panel['legend']['seen']} of {panel['legend']['rows']}"
        for panel in drawn.panels("timeseries")
        if panel["legend"]["seen"] < min(LEAST_ROWS, panel["legend"]["rows"])
    ]


def blank_tables(drawn: Drawn) -> list[str]:
    """Tables with rows of which the picture shows none."""
    return [panel["title"] for panel in drawn.panels("table") if panel["blank"] and not panel["empty"]]


def complaints_of_the_page(drawn: Drawn) -> list[str]:
    return list(drawn.report["complaints"])


RULES: Mapping[str, Callable[[Drawn], list[str]]] = {
    "no override matches nothing": overrides_without_effect,
    "no column shows a bare number for a label": numbers_in_place_of_labels,
    "every value has a unit": values_without_unit,
    "every value has sensible decimals": values_with_too_many_digits,
    "no legend is a raw label set or a raw name of OCI": raw_legends,
    "no title is cut": cut_titles,
    "no column is cut off or out of sight": cut_columns,
    "no panel has more than twelve series": crowded_panels,
    "no panel is empty": empty_panels,
    "no missing value is green": green_without_data,
    "no link leads to nothing": links_to_nothing,
    "no annotation is without a subject": annotations_without_subject,
    "no line has the colour of a verdict": lines_in_colours_of_a_verdict,
    "no two of up to eight lines share a colour": lines_of_one_colour,
    "no legend is too short": short_legends,
    "no table is blank": blank_tables,
    "no page complains": complaints_of_the_page,
}
