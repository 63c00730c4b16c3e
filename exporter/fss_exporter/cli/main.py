"""The `fss-exporter` command: a group that imports a command only when that command runs.

`serve` on a client imports neither the OCI SDK nor a table printer that way, and a command whose optional part is not
installed says so itself and costs the others nothing.
"""

import errno
import importlib
import os
import sys

import click
from click.exceptions import NoArgsIsHelpError

from fss_exporter import __version__
from fss_exporter.errors import FssError, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
COMMANDS = ("serve", "demo", "config", "alarms", "assets", "iostat", "doctor", "plan", "fio", "discover")


class LazyGroup(click.Group):
    """Commands by name: `fss_exporter.cli.<name>` holds a click command called `<name>`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """The names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import the command's module, or stand in for it where a part is not installed."""
        if cmd_name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(f"fss_exporter.cli.{cmd_name}")
        except ModuleNotFoundError as missing:
            return _unavailable(cmd_name, missing)
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101  # a mistake of ours, met by the first test
        return command


def _unavailable(name: str, missing: ModuleNotFoundError) -> click.Command:
    def refuse() -> None:
        raise UsageError(
            f"{name} needs the Python module {missing.name}, which is not installed: pip install 'fss-exporter[oci]'"
        ) from missing

    return click.Command(name, callback=refuse, short_help=f"(not installed: {missing.name})")


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="fss-exporter")
def cli() -> None:
    """How close OCI File Storage mount targets are to their ceiling, who pushes them there, and what to do."""


def run(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code.

    0 done, 1 the work failed, 2 the input was wrong. Every failure an operator can act on is one line a mistake on
    stderr, never a stack trace.
    """
    try:
        result = cli.main(arguments, prog_name="fss-exporter", standalone_mode=False)
    except NoArgsIsHelpError as bare:
        bare.show()
        return bare.exit_code
    except click.ClickException as wrong:
        where = wrong.ctx.command_path if isinstance(wrong, click.UsageError) and wrong.ctx else "fss-exporter"
        message = " ".join(wrong.format_message().split())
        _complain(where, f"{message} (see {where} --help)" if wrong.exit_code == 2 else message)
        return wrong.exit_code
    except FssError as wrong:
        for line in str(wrong).splitlines():
            _complain("fss-exporter", line)
        return 2 if isinstance(wrong, UsageError) else 1
    except click.Abort:
        return 130
    except OSError as error:
        if error.errno not in _FULL:
            raise
        return _give_up_output(error)
    return result if isinstance(result, int) else 0


def _give_up_output(error: OSError) -> int:
    _complain("fss-exporter", f"the output cannot be written: {error.strerror}")
    # What is left of it would fail once more when Python ends.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # open as long as the process lives
    return 1


def _complain(where: str, line: str) -> None:
    click.echo(f"{where}: {line}", err=True)


def main() -> None:
    """Entry point of the `fss-exporter` script."""
    sys.exit(run())
