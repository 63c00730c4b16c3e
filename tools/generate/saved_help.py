"""Write the help of the commands that need the OCI SDK, which an installation without the SDK shows in place of the command."""

from collections.abc import Iterator
from pathlib import Path

import click

from fss_exporter.cli.main import NEED_OCI, cli

FOLDER = Path(__file__).parents[2] / "exporter/fss_exporter/cli/help"
WIDTH = 100  # columns


def texts() -> dict[str, str]:
    """Help by name of the file."""
    top = click.Context(cli, info_name="fss-exporter", **cli.context_settings)
    return {name: text for command in NEED_OCI for name, text in _helps(cli.get_command(top, command), command, top)}


def _helps(command: click.Command | None, name: str, parent: click.Context) -> Iterator[tuple[str, str]]:
    if command is None:
        raise TypeError(f"no command {name}")
    context = click.Context(
        command, info_name=command.name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield f"{name}.txt", command.get_help(context) + "\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _helps(command.get_command(context, below), f"{name}-{below}", context)


def main() -> None:
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for name, text in texts().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
