"""Answers of `plan` as JSON, and a Prometheus that takes several queries in a request, for tests."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.prompt import RECORDINGS, ask

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
