"""`fss-exporter doctor` at the prompt: its flags, and what it found."""

from typing import Any

from tests.prompt import Answer

Flags = tuple[str, ...]


def findings(answer: Answer) -> dict[str, list[dict[str, Any]]]:
    by_check: dict[str, list[dict[str, Any]]] = {}
    for finding in answer.document["findings"]:
        by_check.setdefault(finding["check"], []).append(finding)
    return by_check
