# SPDX-License-Identifier: Apache-2.0
"""The `fss-exporter` command: a group that imports a command only when that command runs.

`serve` on a client imports neither the OCI SDK nor a table printer that way. `--help` and `--version` import no command.
"""

import errno
import importlib
import sys
from importlib.resources import files
from importlib.util import find_spec
from typing import Final

import click
from click.exceptions import NoArgsIsHelpError

from fss_exporter import __version__
from fss_exporter.cli import terminal
from fss_exporter.errors import INSTALL_OCI, FssError, UsageError

# Name and summary of each command by the section of the help, in its order. `module_of` names the module that holds the click command.
SECTIONS: Final = {
    "What happens now": {
        "top": "Watch mount targets against their ceilings in the whole terminal.",
        "iostat": "Show the estimated mount-target IOPS of each NFS mount.",
        "doctor": "Check this client, its exporter and the OCI account, and name a fix for each problem.",
        "discover": "List the mount targets of an OCI account with exports, addresses, shapes and ceilings.",
    },
    "Before you buy or change": {
        "plan": "Show the cost of a workload, the ceiling it meets first, and the number of mount targets it needs.",
        "fio": "Show what fio jobs cost a mount target, and which ceiling limited the jobs.",
        "calibrate": "Measure what each NFS request costs a mount target, in a directory on an idle mount.",
    },
    "Metrics for Prometheus": {
        "serve": "Serve metrics for Prometheus until stopped.",
        "once": "Print the metrics of this host's NFS mounts once, for the textfile collector, cron, or a host without listeners.",
        "config": "Check the configuration file.",
        "clean": "Remove what a killed agent with --nfs.exact has left in the kernel, which goes on counting for it.",
    },
    "Rules, dashboards, alarms": {
        "assets": "Write the rules, dashboards, OCI alarms, systemd units, documents and the example configuration to DIR.",
        "alarms": "Plan, apply and destroy OCI alarms for mount targets.",
    },
    "Without an account": {
        "demo": "Try the exporter with recorded NFS clients and a loopback OCI region.",
    },
}
COMMANDS: Final = {name: summary for commands in SECTIONS.values() for name, summary in commands.items()}

# Page of each command whose page is not docs/commands/NAME.md.
_PAGES: Final = {
    "serve": "docs/install.md",
    "once": "docs/collecting.md",
    "config": "docs/install.md",
    "clean": "docs/exact-mode.md",
    "assets": "docs/install.md",
}

_EXPORTER_COMMANDS: Final = frozenset(("serve", "once", "config"))

NEED_OCI: Final = frozenset(("alarms", "discover", "demo", "calibrate"))  # commands that need the extra `[oci]`


class LazyGroup(terminal.CommandGroup):
    """The commands of `COMMANDS`, each imported when it runs."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # any arguments of click
        # click looks here for the names it suggests
        self.commands = {name: click.Command(name, short_help=summary) for name, summary in COMMANDS.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:  # noqa: ARG002  # click's signature
        """Return name and summary of each command, without an import."""
        return [(name, f"{summary}{_missing(name)}") for name, summary in COMMANDS.items()]

    def sections(self, ctx: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the sections of the help."""
        summaries = dict(self.summaries(ctx))
        return [(title, [(name, summaries[name]) for name in commands]) for title, commands in SECTIONS.items()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import the command's module, or give a command that says which module is not installed."""
        if cmd_name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(module_of(cmd_name))
        except ModuleNotFoundError as missing:
            return _Unavailable(cmd_name, missing)
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101  # a mistake of ours, met by the first test
        _name_page(command, page_of(cmd_name))
        return command


def module_of(name: str) -> str:
    """Return the module of a command. The exporter names the modules of the toolbox, and imports one only when its command runs."""
    return f"fss_exporter.cli.{name}" if name in _EXPORTER_COMMANDS else f"fss_toolbox.cli.{name}"


def page_of(name: str) -> str:
    """Return the page about a command, as a path in the project and in the folder that `assets` writes."""
    return _PAGES.get(name, f"docs/commands/{name}.md")


def _name_page(command: click.Command, page: str) -> None:
    """Let the help of a command and of those below it end with its page. A command is named once, however often it is looked up."""
    if page not in (command.epilog or ""):
        command.epilog = "\n\n".join(filter(None, (command.epilog, f"More in {page}.")))
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _name_page(below, page)


def _missing(name: str) -> str:
    if name == "top" and find_spec("textual") is None:
        return "  (not installed: textual)"
    return "  (not installed: oci)" if name in NEED_OCI and find_spec("oci") is None else ""


class _Unavailable(click.Command):
    """A command whose module is not installed. Its saved help shows the flags, and a call says what to install."""

    def __init__(self, name: str, missing: ModuleNotFoundError) -> None:
        super().__init__(
            name, callback=self._refuse, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
        )
        self._missing = missing
        self._reason = f"{name} needs the Python module {missing.name}, which is not installed. {INSTALL_OCI}"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help. Any other flags are taken: whatever they are, the missing module is what the operator must know."""
        if {"-h", "--help"} & set(args):
            self._show_saved_help(args[0])
            ctx.exit()
        return super().parse_args(ctx, args)

    def _show_saved_help(self, subcommand: str) -> None:
        saved = files("fss_exporter.cli") / "help"
        texts = [saved / f"{name}.txt" for name in (f"{self.name}-{subcommand}", str(self.name))]
        terminal.echo(f"{self._reason}\n")
        for text in [text for text in texts if text.is_file()][:1]:
            terminal.echo(text.read_text(encoding="utf-8").rstrip())

    def _refuse(self) -> None:
        raise UsageError(self._reason) from self._missing


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="More in docs/README.md. fss-exporter assets DIR writes the documents too.",
)
@click.version_option(__version__, prog_name="fss-exporter")
def cli() -> None:
    """Show how close OCI File Storage mount targets are to their ceilings, which clients cause the load, and what to do."""


def run(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code.

    0 done, 1 the work failed, 2 the input was wrong. Every failure an operator can act on is one line a mistake on
    stderr, never a stack trace.
    """
    try:
        result = cli.main(arguments, prog_name="fss-exporter", standalone_mode=False)
        sys.stdout.flush()
    except NoArgsIsHelpError as bare:
        bare.show()
        return bare.exit_code
    except click.ClickException as wrong:
        return _refuse(wrong)
    except FssError as wrong:
        for line in wrong.lines:
            terminal.complain("fss-exporter", line)
        return 2 if isinstance(wrong, UsageError) else 1
    except click.Abort:
        return 130
    except OSError as error:
        return _give_up_output(error)
    return result if isinstance(result, int) else 0


def _refuse(wrong: click.ClickException) -> int:
    where = wrong.ctx.command_path if isinstance(wrong, click.UsageError) and wrong.ctx else "fss-exporter"
    message = " ".join(wrong.format_message().split())
    if isinstance(wrong, click.NoSuchOption) and wrong.option_name[1:2].isdigit():
        message += " A number must be more than 0"
    terminal.complain(where, f"{message} (see {where} --help)" if wrong.exit_code == 2 else message)
    return wrong.exit_code


def _give_up_output(error: OSError) -> int:
    """Return the exit code after standard output has failed. Print nothing about a reader that has left."""
    if error.errno not in {*terminal.FULL_DISK, errno.EBADF, errno.EPIPE}:
        raise error
    terminal.discard_output()
    if error.errno != errno.EPIPE:
        why = "standard output is closed" if error.errno == errno.EBADF else error.strerror
        terminal.complain("fss-exporter", f"the output cannot be written: {why}")
    return 1


def main() -> None:
    """Entry point of the `fss-exporter` script."""
    terminal.prepare_streams()
    try:
        exit_code = run()
    except SystemExit as ended_by_signal:
        exit_code = ended_by_signal.code if isinstance(ended_by_signal.code, int) else 1
    except Exception:  # noqa: BLE001  # a mistake of ours, told as Python would tell of it
        sys.excepthook(*sys.exc_info())
        exit_code = 1
    terminal.end_process(exit_code)
