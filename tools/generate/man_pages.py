"""man_pages.py FOLDER: a man page for every command of fss-exporter, from the commands' own help."""

import sys
from copy import deepcopy
from pathlib import Path

import click
from click_man.core import write_man_pages

from fss_exporter import __version__
from fss_exporter.cli.main import cli


def with_all_commands(lazy: click.Group) -> click.Group:
    """A copy of the group with its commands imported: click-man does not see commands that are imported on use."""
    context = click.Context(lazy)
    loaded = {name: lazy.get_command(context, name) for name in lazy.list_commands(context)}
    commands = {name: deepcopy(command) for name, command in loaded.items() if command is not None}
    group = click.Group(
        "fss-exporter",
        commands=commands,
        help=lazy.help,
        params=deepcopy(lazy.params),
        context_settings=lazy.context_settings,
    )
    show_whole_summaries(group)
    return group


def show_whole_summaries(command: click.Command) -> None:
    """Keep the summary of a command and its subcommands whole: without a short help click cuts it after 45 characters."""
    command.short_help = command.short_help or (command.help or "").partition("\n\n")[0].replace("\n", " ")
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            show_whole_summaries(inner)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_man_pages("fss-exporter", with_all_commands(cli), version=__version__, target_dir=str(target))
