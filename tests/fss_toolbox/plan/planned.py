"""Answers of `plan` as JSON, and a Prometheus that takes several queries in a request, for tests."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.prompt import RECORDINGS, ask

NOW = 1_790_000_000  # of stand-ins for Prometheus

MIXED = (RECORDINGS / "k_mixed/before.txt", RECORDINGS / "k_mixed/after.txt")


def planned(*flags: object) -> dict[str, Any]:
    answer = ask("plan", *flags, "--output", "json")
    assert answer.code == 0, answer.err
    (only,) = answer.document["plans"]
    assert isinstance(only, dict)
    return only


def ratios(answer: dict[str, Any]) -> dict[str, float | None]:
    return {use["resource"]: use["ratio"] for use in (*answer["mount_target"], *answer["clients"])}


PART = re.compile(r'label_replace\((.*?), "part", "(\d+)", "", ""\)')


def by_part(answer: Callable[[str], str]) -> Callable[[str], str]:
    """A Prometheus that answers several queries in a request by `answer`, which answers the path of a single query."""

    def answer_of_all(path: str) -> str:
        url = urlsplit(path)
        parameters = parse_qs(url.query)
        parts = PART.findall(parameters["query"][0])
        if not parts:
            return answer(path)
        result = []
        for query, number in parts:
            own = urlencode({**parameters, "query": query}, doseq=True)
            answered = json.loads(answer(url._replace(query=own).geturl()))["data"]["result"]
            result += [series | {"metric": series["metric"] | {"part": number}} for series in answered]
        return json.dumps({"status": "success", "data": {"result": result}})

    return answer_of_all


Series = tuple[
    Mapping[str, str], str | Sequence[tuple[float, str]]
]  # labels, and the value now or the samples of a range


def answering(series: Callable[[str, bool], Iterable[Series]]) -> Callable[[str], str]:
    """A Prometheus that answers with these series. `series` gets each query, and whether the query is of a range."""

    def answer(path: str) -> str:
        is_range = "query_range" in path
        (query,) = parse_qs(urlsplit(path).query)["query"]
        result = [
            {"metric": labels, "values": [(NOW, found)] if isinstance(found, str) else found}
            if is_range
            else {"metric": labels, "value": (NOW, found)}
            for labels, found in series(query, is_range)
        ]
        return json.dumps({"status": "success", "data": {"result": result}})

    return by_part(answer)
