"""Everything that starts the exporter starts a command it has, with flags that command takes."""

import json
import re
from pathlib import Path

import click
import pytest
import yaml

from fss_exporter.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]


def of_units() -> dict[str, list[str]]:
    lines = {unit.name: re.findall(r"^ExecStart=(.*)$", unit.read_text(), flags=re.MULTILINE) for unit in UNITS}
    return {name: line[0].split()[1:] for name, line in lines.items()}


def of_images() -> dict[str, list[str]]:
    text = (ROOT / "Dockerfile").read_text()
    return {
        f"Dockerfile {at}": json.loads(line)
        for at, line in enumerate(re.findall(r"^CMD (\[.*\])$", text, flags=re.MULTILINE))
    }


def of_pods() -> dict[str, list[str]]:
    commands = {}
    for name in ("agent", "poller"):
        for document in yaml.safe_load_all((ROOT / f"deploy/kubernetes/{name}.yaml").read_text()):
            if document and document["kind"] in {"DaemonSet", "Deployment"}:
                commands[f"{name}.yaml"] = document["spec"]["template"]["spec"]["containers"][0]["args"]
    return commands


def of_texts() -> dict[str, list[str]]:
    """`fss-exporter COMMAND ...` in consoles of the pages and in what Helm prints; images stand for the command too."""
    commands = {}
    for path in (ROOT / "docs/install.md", ROOT / "deploy/helm/fss-exporter/templates/NOTES.txt"):
        text = path.read_text().replace("\\\n", " ")
        starts = rf"(?:fss-exporter|fss-exporter-\w+:[\d.]+) ((?:{'|'.join(COMMANDS)})\b[^`\n|]*)"
        for at, line in enumerate(re.findall(starts, text)):
            commands[f"{path.name} {at}"] = line.split()
    return commands


def of_compose() -> dict[str, list[str]]:
    services = yaml.safe_load((ROOT / "deploy/compose/compose.yml").read_text())["services"]
    return {f"compose {name}": services[name]["command"] for name in ("exporter", "pack")}


UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
STARTS = of_units() | of_images() | of_pods() | of_compose() | of_texts()


def test_every_place_that_starts_the_exporter_is_looked_at() -> None:
    assert (len(of_units()), len(of_images()), len(of_pods())) == (2, 2, 2)
    assert {place.split()[0] for place in of_texts()} == {"install.md", "NOTES.txt"}


@pytest.mark.parametrize("place", sorted(STARTS))
def test_the_command_and_its_flags_exist(place: str) -> None:
    name, *rest = STARTS[place]
    command = cli.get_command(click.Context(cli), name)
    assert command, name
    if isinstance(command, click.Group):
        sub = command.get_command(click.Context(command), rest.pop(0))
        assert sub
        command = sub
    flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    given = [word.partition("=")[0] for word in rest if word.startswith("--")]
    assert [flag for flag in given if flag not in flags] == []
