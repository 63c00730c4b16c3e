# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter config`: look at a configuration file before a service does."""

from collections.abc import Iterator
from pathlib import Path

import click

from fss_exporter.cli.terminal import CommandGroup, echo
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import FilePath
from fss_exporter.oci import settings_checks
from fss_exporter.settings import Oci, Settings, load
from fss_exporter.shard import WHOLE


@click.group(cls=CommandGroup)
def config() -> None:
    """Check the configuration file."""


@config.command()
@click.argument("file", type=FilePath(path_type=Path))
@click.option(
    "--on-this-host", is_flag=True, help="Check also what depends on the host, as a poller does at its start."
)
@click.option("--web", is_flag=True, help="FILE is that of --web.config.file. Check its certificates and keys too.")
def check(file: Path, on_this_host: bool, web: bool) -> None:
    """Check FILE. Print every mistake, or a summary of the settings. Use no network."""
    if web and on_this_host:
        raise UsageError("--on-this-host: --web checks what depends on the host already. Give one of both")
    if web:
        from fss_exporter.web.web_config_reload import WebConfigReload  # noqa: PLC0415  # a poller's check needs no bcrypt

        warning = WebConfigReload(file).warning
        echo(f"{file}: correct")
        if warning:
            click.echo(f"{file}: {warning}", err=True)
        return
    settings = settings_checks.check(load(file), on_this_host=on_this_host)
    echo(f"{file}: correct")
    for line in _summary(settings):
        echo(f"  {line}")


def _summary(settings: Settings) -> list[str]:
    oci, limits, slos = settings.oci, settings.limits, settings.slo_objectives
    latencies = settings.latency_objectives
    objectives = [*(" ".join(filter(None, which)) for which in latencies.given), *latencies.mount_targets]
    observed = ["each shape by its observed ceiling"] if limits.observed else []
    tails = f"; p99 of {_listed([kind for kind, _ in latencies.p99.given], '')}" if latencies.p99.given else ""
    return [
        *(line for account in oci.each_account for line in _account_lines(account)),
        f"every {oci.poll_interval:g} s; points go stale after {oci.stale_after:g} s",
        f"near from {100 * settings.warning_ratio:g} % of a ceiling or of a latency objective on",
        f"limits replaced: {_listed([*observed, *limits.shapes, *limits.mount_targets], 'none')}",
        f"latency objectives replaced: {_listed(objectives, 'none, the assumed objectives apply')}{tails}",
        f"SLO objectives replaced: {_listed([*slos.given, *slos.mount_targets], 'none')}",
        f"costs replaced: {_listed(list(settings.cost_model.operations), 'none')}",
        f"mounts of other services: {_listed([given.service for given in settings.services], 'none')}",
        f"addresses mapped: {len(settings.address_map)}; mount targets given another address: {len(settings.addresses)}",
    ]


def _account_lines(oci: Oci) -> Iterator[str]:
    name = f"{oci.name}: " if oci.name else ""
    regions = _listed(oci.regions, "the region of the credentials")
    yield f"{name}polls {regions} as {oci.auth}, at most {oci.calls_per_second:g} calls a second"
    if oci.shard != str(WHOLE):
        yield f"{name}polls shard {oci.shard} of the mount targets"
    below = ", and those below" if oci.compartments and oci.in_subtree else ""
    yield f"{name}compartments: {_listed(oci.compartments, 'all of the tenancy')}{below}"
    tags = [
        f"{way} {', '.join(f'{key}={value}' for key, value in chosen.tags.items())}"
        for way, chosen in (("with the tags", oci.include), ("without", oci.exclude))
        if chosen.tags
    ]
    yield f"{name}mount targets: {_listed(tags, 'all')}"
    yield f"{name}networks: {_listed(sorted({oci.network or 'the region', *oci.networks.values()}), '')}"


def _listed(names: list[str] | tuple[str, ...], nothing: str) -> str:
    return ", ".join(names) if names else nothing
