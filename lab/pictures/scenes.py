"""Everything a drawing needs of a dashboard: the file, its variables, and Prometheus' answer to each query.

A scene is plain JSON, so that it can be recorded and drawn again without a Prometheus.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.pictures.answers import Answers
from lab.pictures.intervals import rate_window_s, step_s

Json = dict[str, Any]

_ALL = "$__all"
_COLUMN_PIXELS = 60


def panels_of(dashboard: Json) -> Iterator[Json]:
    """Every panel, those of closed rows included."""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            yield from panel.get("panels", [])
        else:
            yield panel


@dataclass(frozen=True)
class Asked:
    """One dashboard, put to one Prometheus over one range of time."""

    prometheus: Answers
    dashboard: Json
    start: float
    end: float
    chosen: Mapping[str, str]

    def scene(self) -> Json:
        """The dashboard with its variables and answers; `chosen` has the text of variables that are not All or the first."""
        variables = self.variables()
        return {
            "dashboard": self.dashboard,
            "from": int(self.start * 1000),
            "to": int(self.end * 1000),
            "variables": variables,
            "answers": {panel["title"]: self.answers(panel, variables) for panel in panels_of(self.dashboard)},
            "annotations": self._annotations(variables),
        }

    def variables(self) -> dict[str, Json]:
        """Text and value of each variable by its name."""
        variables: dict[str, Json] = {}
        for variable in self.dashboard["templating"]["list"]:
            variables[variable["name"]] = self._value(variable, variables)
        return variables

    def _value(self, variable: Json, before: Mapping[str, Json]) -> Json:
        if variable["type"] == "datasource":
            return {"text": "Prometheus", "value": "prometheus"}
        if variable["type"] in {"custom", "textbox"}:
            return dict(variable["current"])
        options = self._options(variable, before)
        if variable.get("multi"):
            every = variable.get("allValue") or "(" + "|".join(_escaped(value) for _, value in options) + ")"
            return {"text": "All", "value": _ALL, "query": every}
        wanted = self.chosen.get(variable["name"])
        text, value = next((option for option in options if wanted in option), options[0] if options else ("", ""))
        return {"text": text, "value": value}

    def _options(self, variable: Json, before: Mapping[str, Json]) -> Sequence[tuple[str, str]]:
        query = substituted(variable["query"]["query"], before, {"__range": f"{self.end - self.start:.0f}s"})
        if result := re.fullmatch(r"query_result\((.*)\)", query):
            series = self.prometheus.ask("query", query=result[1], time=f"{self.end:.3f}")["result"]
            named = [_named_groups(variable["regex"], _as_text(stream["metric"])) for stream in series]
            options = [option for option in named if option]
        else:
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()  # type: ignore[union-attr]  # fails well
            times = {"start": f"{self.start:.3f}", "end": f"{self.end:.3f}"}
            options = [
                (labels[label], labels[label])
                for labels in self.prometheus.ask("series", **{"match[]": metric}, **times)
                if label in labels
            ]
        return sorted(set(options)) if variable["sort"] else list(dict.fromkeys(options))

    def answers(self, panel: Json, variables: Mapping[str, Json]) -> Json:
        """The answers to the queries of a panel, by the letter of the query."""
        return {target["refId"]: self._answer(panel, target, variables) for target in panel["targets"]}

    def _answer(self, panel: Json, target: Json, variables: Mapping[str, Json]) -> Json:
        span = self.end - self.start
        points = panel["gridPos"]["w"] * _COLUMN_PIXELS
        minimum = target.get("interval") or panel.get("interval")
        step = step_s(span, points, self.prometheus.scrape_s, minimum)
        window = rate_window_s(step, self.prometheus.scrape_s, minimum)
        macros = {"__rate_interval": f"{window}s", "__range": f"{span:.0f}s", "__interval": f"{step}s"}
        expr = substituted(target["expr"], variables, macros)
        if target["instant"]:
            result = self.prometheus.ask("query", query=expr, time=f"{self.end:.3f}")["result"]
            return {
                "step": step,
                "series": [{"metric": stream["metric"], "values": [stream["value"]]} for stream in result],
            }
        start = self.start - self.start % step
        result = self.prometheus.ask(
            "query_range", query=expr, start=f"{start:.3f}", end=f"{self.end:.3f}", step=str(step)
        )["result"]
        return {"step": step, "series": result}

    def _annotations(self, variables: Mapping[str, Json]) -> list[Json]:
        marks = []
        for annotation in self.dashboard["annotations"]["list"]:
            expr = substituted(annotation["expr"], variables)
            times = {"start": f"{self.start:.0f}", "end": f"{self.end:.0f}", "step": "60"}
            for series in self.prometheus.ask("query_range", query=expr, **times)["result"]:
                title = _filled(annotation["titleFormat"], series["metric"])
                marks.append({"time": int(series["values"][0][0] * 1000), "title": title})
        return marks


def _filled(form: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), form)


def substituted(text: str, variables: Mapping[str, Json], macros: Mapping[str, str] | None = None) -> str:
    """A query with macros and variables replaced."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if macros and name in macros:
            return macros[name]
        return str(variables[name].get("query", variables[name]["value"]))

    return re.sub(r"\$\{(\w+)(?::\w+)?\}|\$([a-z_]\w*)", value, text)


def _escaped(value: str) -> str:
    """A value within a regular expression within a string of PromQL."""
    return re.escape(value).replace("\\", "\\\\")


def _as_text(labels: Mapping[str, str]) -> str:
    """A series as `query_result` gives it to the regular expression of a variable."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in sorted(labels.items())) + "} 1 1700000000000"


def _named_groups(pattern: str, line: str) -> tuple[str, str] | None:
    """Text and value that Grafana takes from a line by named groups; without a text the value is shown, without a value nothing."""
    expression = re.sub(r"^/|/g?$", "", pattern).replace("(?<", "(?P<")
    groups: dict[str, str] = {}
    for match in re.finditer(expression, line):
        groups |= {name: value for name, value in match.groupdict().items() if value}
    return (groups.get("text", groups["value"]), groups["value"]) if "value" in groups else None


def busiest_mount_target(prometheus: Answers, at: float) -> str:
    """OCID of the mount target that is nearest to its IOPS ceiling; empty without the poller."""
    query = 'topk(1, mount_target_resource:fss_utilisation:ratio{resource="iops"})'
    nearest = prometheus.ask("query", query=query, time=f"{at:.3f}")["result"]
    return str(nearest[0]["metric"]["mount_target_id"]) if nearest else ""


def scenes(
    prometheus: Answers, dashboards: Sequence[Json], *, start: float, end: float, mount_target: str = ""
) -> list[Json]:
    """A scene for each dashboard, as it opens, or with the mount target of this OCID."""
    chosen = {"mount_target": mount_target}
    return [Asked(prometheus, dashboard, start, end, chosen).scene() for dashboard in dashboards]
