"""`fss-exporter config`: look at a configuration file before a service does."""

from pathlib import Path

import click

from fss_exporter.cli.terminal import CommandGroup, echo
from fss_exporter.settings import Settings, load


@click.group(cls=CommandGroup)
def config() -> None:
    """Check the configuration file."""


@config.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Check FILE. Print every mistake with its line, or a summary of the settings. Use no network."""
    settings = load(file)
    echo(f"{file}: correct")
    for line in _summary(settings):
        echo(f"  {line}")


def _summary(settings: Settings) -> list[str]:
    oci, limits, slos = settings.oci, settings.limits, settings.slo_objectives
    return [
        f"polls {_listed(oci.regions, 'the region of the credentials')} as {oci.auth}",
        f"compartments: {_listed(oci.compartments, 'all of the tenancy')}",
        f"every {oci.poll_interval:g} s, at most {oci.calls_per_second:g} calls a second; points go stale after {oci.stale_after:g} s",
        f"limits replaced: {_listed([*limits.shapes, *limits.mount_targets], 'none')}",
        f"latency objectives replaced: {_listed(_objectives(settings), 'none, the assumed objectives apply')}",
        f"SLO objectives replaced: {_listed([*slos.given, *slos.mount_targets], 'none')}",
        f"addresses mapped: {len(settings.address_map)}; mount targets given another address: {len(settings.addresses)}",
    ]


def _objectives(settings: Settings) -> list[str]:
    given = settings.latency_objectives
    metadata = ["metadata"] if given.metadata is not None else []
    sizes = [*(f"read {size}" for size in given.read), *(f"write {size}" for size in given.write)]
    return [*sizes, *metadata, *given.mount_targets]


def _listed(names: list[str] | tuple[str, ...], nothing: str) -> str:
    return ", ".join(names) if names else nothing
