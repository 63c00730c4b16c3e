"""Answers of `plan` as JSON, for tests."""

from typing import Any

from tests.cli.prompt import RECORDINGS, ask

MIXED = (RECORDINGS / "k_mixed/before.txt", RECORDINGS / "k_mixed/after.txt")


def planned(*flags: object) -> dict[str, Any]:
    answer = ask("plan", *flags, "--output", "json")
    assert answer.code == 0, answer.err
    (only,) = answer.document["plans"]
    assert isinstance(only, dict)
    return only


def ratios(answer: dict[str, Any]) -> dict[str, float | None]:
    return {use["resource"]: use["ratio"] for use in (*answer["mount_target"], *answer["clients"])}
