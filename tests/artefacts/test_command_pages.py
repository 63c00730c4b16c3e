"""What docs/ shows of the commands is what they print, and the fio jobs there are those of the white paper."""

import re
import shlex
from pathlib import Path

import click
import pytest
from tests.prompt import ask
from tools.generate import saved_help
from tools.generate.command_pages import PAGES, ROOT, commands, render

from fss_exporter.cli.main import COMMANDS, cli
from fss_toolbox.cli.plan import plan


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_the_output_its_commands_have(page: Path) -> None:
    text = page.read_text()
    assert render(text) == text, "run: .venv/bin/python -m tools.generate.command_pages"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_only_our_own_commands(page: Path) -> None:
    assert {command.split()[0] for command in commands(page.read_text())} == {"fss-exporter"}
    assert {command.split()[1] for command in commands(page.read_text())} <= set(COMMANDS)


def test_the_first_page_lists_every_command() -> None:
    page = (ROOT / "docs/commands/README.md").read_text()
    assert [command for command in COMMANDS if not re.search(rf"^\| \[?`{command}\b", page, re.MULTILINE)] == []


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS), ("alarms", "plan"), ("config", "check")])
def test_a_help_ends_with_a_page_that_is_there(words: tuple[str, ...]) -> None:
    *_, last = ask(*words, "--help").out.strip().splitlines()
    (page,) = re.findall(r"More in (docs/[\w/-]+\.md)\.", last)
    assert (ROOT / page).is_file()


def test_the_help_of_plan_has_three_examples_that_its_flags_take() -> None:
    examples = re.findall(r"(?m)^    fss-exporter plan (.*)$", ask("plan", "--help").out)
    assert len(examples) == 3
    for example in examples:
        plan.make_context("plan", shlex.split(example), click.Context(cli, **cli.context_settings))


def test_the_saved_help_of_commands_that_need_the_sdk_is_their_help() -> None:
    saved = {path.name: path.read_text() for path in saved_help.FOLDER.glob("*.txt")}
    assert saved == saved_help.texts(), "run: make pages"
