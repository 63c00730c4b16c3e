"""`fss-exporter doctor`: find problems of this client and of the account, each with a fix."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fss_exporter import __version__, tables
from fss_exporter.cli.account_flags import account_options, account_settings
from fss_exporter.cli.ceilings import judge, services_of, shape_option
from fss_exporter.cli.flags import (
    PROCFS,
    HostFlags,
    duration,
    flag,
    flags_of,
    kernel_options,
    procfs_options,
    taken_from,
)
from fss_exporter.doctor import report
from fss_exporter.doctor.client_probe import ClientProbe, tracefs_of
from fss_exporter.doctor.exact import check_exact
from fss_exporter.doctor.findings import Finding, Severity, exit_code
from fss_exporter.doctor.load_by_process import check_load_by_process
from fss_exporter.doctor.mounts import check_mounts
from fss_exporter.doctor.network import check_directories, check_network
from fss_exporter.doctor.running_exporter import METRICS_URL, check_running
from fss_exporter.errors import INSTALL_OCI, UsageError
from fss_exporter.fetch import check_url
from fss_exporter.instance_metadata import METADATA_URL
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.settings import Settings
from fss_exporter.units import latency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fss_exporter.doctor.account_facts import RegionFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFlags(HostFlags):
    """The flags of `doctor`; times in seconds."""

    directories: tuple[str, ...]
    client: bool = flag("--client/--no-client", "Look at this client.", default=True)
    account: bool | None = flag("--account/--no-account", "Ask OCI.  [default: where there are credentials]")
    connect: bool = flag("--connect/--no-connect", "Open a TCP connection to each mount target.", default=True)
    deadline: float = flag("--deadline", "Longest time of each probe of this client.", 2.0, written="2s", type=latency)
    metadata_url: str = flag("--metadata-url", "URL of the instance metadata. Empty: do not ask.", METADATA_URL)
    exporter_url: str = flag(
        "--exporter-url",
        "Metrics of the exporter on this host, to check its background loops. Empty: do not ask.",
        METRICS_URL,
    )
    fstab: Path = flag("--path.fstab", "", Path("/etc/fstab"), type=click.Path(path_type=Path))
    wait_s: float | None = flag(
        "--wait",
        "Measure ingestion lag: the longest wait for new minutes in each region, e.g. 90s. Ctrl-C ends the wait.",
        type=duration,
        metavar="DURATION",
    )
    record: Path | None = flag(
        "--record",
        "Write what the account has, without OCIDs and names, to a file.",
        type=click.Path(path_type=Path),
    )
    shape: str


@click.command()
@click.argument("directories", nargs=-1, metavar="[DIRECTORY]...")
@flags_of(DoctorFlags, "client", "account", "connect", "deadline", "metadata_url", "exporter_url")
@procfs_options
@kernel_options
@flags_of(DoctorFlags, "fstab", "wait_s", "record")
@shape_option
@account_options
@tables.output_option
def doctor(config_file: Path | None, *, output: str, **flags: Any) -> int:
    """Check this client, its exporter and the OCI account, and name a fix for each problem.

    A separate process counts the entries of each DIRECTORY. The command touches nothing else of any file system.

    Exit code 0 fine, 1 warnings, 2 problems, a mistake on the command line, or nothing checked.
    """
    options = taken_from(DoctorFlags, flags)  # the flags that remain name the account
    settings = account_settings(config_file, **flags)
    _check_flags(options)
    regions, about_account = _account(options, settings, asked=config_file is not None or any(flags.values()))
    if not options.client and not about_account:
        raise UsageError("nothing was checked: --no-client, and no credentials or --no-account")
    about_client: list[Finding] = []
    if options.client:
        domains = {address: zone for facts in regions for address, zone in facts.availability_domains.items()}
        facts = _probe(options, settings).ask(domains)
        limits = judge(options.shape, config_file).limits
        about_client += (*check_mounts(facts), *check_network(facts, limits), *check_directories(facts))
        about_client += (*check_exact(facts), *check_load_by_process(facts))
    running = check_running(options.exporter_url) if options.client and options.exporter_url else ()
    parts = {"client": about_client, "exporter": running, "account": about_account}
    findings = [(about, finding) for about, found in parts.items() for finding in found]
    if options.record is not None:
        _write(options.record, regions)
    code = exit_code(finding for _, finding in findings)
    if output == "json":
        click.echo(tables.as_json(report.document(__version__, code, findings)))
    else:
        report.show(tables.console(), findings)
    return code


def _check_flags(options: DoctorFlags) -> None:
    """Refuse impossible flags before the checks take a minute."""
    for name, url in (("--metadata-url", options.metadata_url), ("--exporter-url", options.exporter_url)):
        if url:
            check_url(name, url)
    if options.record is not None:
        _check_record(options.record, asked=options.account)
    if options.wait_s is not None and options.account is False:
        raise UsageError("--wait waits for metrics of the account: leave out --no-account")


def _check_record(path: Path, *, asked: bool | None) -> None:
    if asked is False:
        raise UsageError("--record writes what the account has: leave out --no-account")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"--record={path}: cannot be written. Give a file in an existing folder")


def _probe(options: DoctorFlags, settings: Settings) -> ClientProbe:
    return ClientProbe(
        source=Procfs(options.procfs, options.pid, settings.address_map, services_of(settings)),
        procfs=options.procfs,
        sysfs=options.sysfs,
        tracefs=tracefs_of(options.tracefs, own_host=options.procfs == PROCFS),
        fstab=options.fstab,
        directories=options.directories,
        connect=options.connect,
        metadata_url=options.metadata_url,
        deadline_s=options.deadline,
    )


def _account(options: DoctorFlags, settings: Settings, *, asked: bool) -> "tuple[list[RegionFacts], list[Finding]]":
    """Return the answers of the account. With a skipped account, say so and return nothing."""
    wanted = options.account
    if wanted is None:
        asked = asked or options.record is not None or options.wait_s is not None
        wanted = asked or settings.oci.config_file.expanduser().is_file()
        if not wanted:
            tables.note(
                "the account is not checked: no credentials. Give --oci.auth or --oci.config-file, or --no-account"
            )
    if not wanted:
        return [], []
    try:
        from fss_exporter.cli.doctor_account import ask_account  # noqa: PLC0415  # an agent has no OCI SDK
    except ModuleNotFoundError as missing:
        fix = f"{INSTALL_OCI} Or add --no-account."
        message = f"the Python module {missing.name} is not installed, so OCI cannot be asked"
        return [], [Finding("credentials", Severity.PROBLEM, "", message, fix)]
    return ask_account(settings, options.wait_s or 0.0)


def _write(path: Path, regions: "Sequence[RegionFacts]") -> None:
    from fss_exporter.doctor.record import record  # noqa: PLC0415  # only where there is an account

    try:
        path.write_text(record(__version__, regions), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--record={path}: cannot be written: {error.strerror}") from error
    tables.note(f"{path}: written. Read the file before you attach it")
