"""docs/schemas: what `plan` and `fio` print as JSON fits the schema of its version."""

from copy import deepcopy
from typing import Any

import pytest
from tests.json_schema import problems, schema_of
from tests.prompt import RECORDINGS, ROOT, ask

FIO = ROOT / "tests/fixtures/fio"
MIXED = (RECORDINGS / "k_mixed/before.txt", RECORDINGS / "k_mixed/after.txt")
NAS = ("--service", "apsara-nas", "--type", "capacity")
COMMANDS: list[tuple[object, ...]] = [
    (
        "plan",
        "--reads",
        5000,
        "--writes",
        9,
        "--clients",
        5,
        "--tls",
        "--mount-targets",
        2,
        "--what-if",
        "shape=hpmt-20",
    ),
    ("plan", "--operation", "GETATTR=5", "--shape", "none"),
    ("plan", "--mountstats", *MIXED),
    ("plan", "--bytes", "1GiB", "--read-size", "1m", "--write-size", "1m"),
    ("plan", *NAS, "--write-bandwidth", "1MiB/s", "--write-size", "4k", "--concurrency", 1),
    ("plan", *NAS, "--bytes", "1MiB", "--write-size", "4k"),
    ("plan", "--service", "lustre", "--mountstats", *MIXED),
    ("fio", FIO / "group.json"),
    ("fio", FIO / "stonewall.json", "--shape", "none"),
    ("fio", FIO / "apsara-nas.txt", *NAS, "--client-bandwidth", "1Gbit/s"),
]


def document_of(command: tuple[object, ...]) -> Any:
    answer = ask(*command, "--output", "json")
    assert answer.code == 0, answer.err
    return answer.document


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(str(argument) for argument in command[:4]))
def test_a_document_fits_its_schema(command: tuple[object, ...]) -> None:
    schema = schema_of(str(command[0]))
    assert problems(document_of(command), schema, schema) == []


@pytest.mark.parametrize(
    ("command", "change"),
    [
        (COMMANDS[0], lambda document: document.pop("version")),
        (COMMANDS[0], lambda document: document["plans"][0].pop("mount_targets")),
        (COMMANDS[0], lambda document: document["plans"][0].update(luck=7)),
        (COMMANDS[4], lambda document: document.update(possible="no")),
        (COMMANDS[7], lambda document: document["groups"][0].update(pace="luck")),
        (COMMANDS[7], lambda document: document["groups"][0]["jobs"][0]["read"].update(in_flight="many")),
    ],
)
def test_a_changed_document_does_not_fit(command: tuple[object, ...], change: Any) -> None:
    schema = schema_of(str(command[0]))
    changed = deepcopy(document_of(command))
    change(changed)
    assert problems(changed, schema, schema)
