"""Groups of commands whose help shows every summary whole; click's own cuts summaries at the width of the terminal."""

import click


class CommandGroup(click.Group):
    """A group of commands."""

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Return name and summary of each command, in the order of the help."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [(name, command.get_short_help_str(limit=1000)) for name, command in found if command is not None]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(self.summaries(ctx))
