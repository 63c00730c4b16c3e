# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter doctor`: find problems of this client and of the account, each with a fix."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fss_exporter import __version__, units
from fss_exporter.cli.flags import CompartmentFlags, check_url
from fss_exporter.errors import INSTALL_OCI, UsageError
from fss_exporter.flag_records import flag, refuse, takes
from fss_exporter.nfs.mount_settings import mount_settings
from fss_exporter.nfs.procfs import Procfs, boot_hash_of
from fss_exporter.samples import Samples
from fss_exporter.settings import Settings
from fss_toolbox import tables
from fss_toolbox.ceilings import judge
from fss_toolbox.cli.facts_flags import FactsFlags
from fss_toolbox.cli.toolbox_flags import (
    HttpFlags,
    OutputFlags,
    ShapeFlags,
    check_new_file,
    is_given,
    metrics_url,
    write_file,
)
from fss_toolbox.doctor.account_record import AccountRecord, record_json
from fss_toolbox.doctor.client_checks import check_directories, check_mounts, check_network
from fss_toolbox.doctor.client_probe import ClientFlags, read_client
from fss_toolbox.doctor.findings import Finding, document, exit_code, finding_of, show
from fss_toolbox.doctor.kernel_counting import check_exact, check_load_by_process
from fss_toolbox.doctor.record_checks import check_record
from fss_toolbox.doctor.running_exporter import METRICS_URL, check_running
from fss_toolbox.doctor.state_checks import addresses_judged, check_waits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fss_toolbox.doctor.account_facts import RegionFacts


@dataclass(frozen=True, kw_only=True)
class DoctorFlags(ClientFlags, HttpFlags, OutputFlags, ShapeFlags, CompartmentFlags, FactsFlags):
    """The flags of `doctor`; times in seconds."""

    client: bool = flag("--client/--no-client", "Look at this client.", default=True)
    account: bool | None = flag("--account/--no-account", "Ask OCI.  [default: where there are credentials]")
    url: str = flag("--url", "The exporter to check, e.g. http://host:10949. Empty: do not ask.", METRICS_URL)
    wait_s: float | None = flag(
        "--wait",
        "Measure ingestion lag: the longest wait for new minutes in each region, e.g. 90s. Ctrl-C ends the wait.",
        type=units.duration,
    )
    record: Path | None = flag("--record", "Write the facts about the account, without OCIDs and names, to a file.")

    @property
    def names_an_account(self) -> bool:
        """Whether a flag or a configuration names an account."""
        return any((self.config_file, self.record, self.facts, self.wait_s is not None, *self.overrides().values()))


@click.command()
@takes(DoctorFlags)
def doctor(flags: DoctorFlags) -> int:
    """Check this client, its exporter and the OCI account, and name a fix for each problem.

    A separate process counts the entries of each DIRECTORY. The command touches nothing else of any file system.

    Exit code 0 fine, 1 warnings, 2 problems, a mistake on the command line, or nothing checked.
    """
    settings, access = flags.settings(), flags.access()
    _check_flags(flags)
    earlier = flags.earlier_record()
    regions, about_account = _account(flags, settings)
    if earlier is not None:
        about_account += (finding for answers in regions for finding in check_record(earlier, answers))
    # Without the client, no exporter is expected on this host.
    asks_exporter = bool(flags.url) and (flags.client or is_given("url"))
    if not flags.client and not asks_exporter and not about_account:
        raise UsageError("nothing was checked: --no-client, and no credentials or --no-account")
    about_exporter: list[Finding] = []
    pages: list[Samples] = []
    if asks_exporter:
        url = metrics_url("--url", flags.url)
        about_exporter += check_running(url, access, is_named=is_given("url"), keep=pages.append)
    about_client = _client(flags, settings, regions, pages) if flags.client else []
    parts = {"client": about_client, "exporter": about_exporter, "account": about_account}
    findings = [(about, finding) for about, part in parts.items() for finding in part]
    code = exit_code(finding for _, finding in findings)
    if flags.output == "json":
        click.echo(tables.as_json(document(__version__, code, findings)))
    else:
        # What a tenancy answers beyond the documents is for the record and for programs.
        show(tables.console(), [(about, finding) for about, finding in findings if finding.check != "discovered"])
    if flags.record is not None:
        _write(flags.record, regions)
    return code


def _check_flags(flags: DoctorFlags) -> None:
    """Refuse impossible flags before the checks take a minute."""
    if flags.metadata_url:
        check_url("--metadata-url", flags.metadata_url)
    if flags.url:
        metrics_url("--url", flags.url)
    is_without = flags.account is False
    refuse(
        {
            "--record is about the account: leave out --no-account": is_without and flags.record is not None,
            "--facts is about the account: leave out --no-account": is_without and flags.facts is not None,
            "--wait waits for metrics of the account: leave out --no-account": is_without and flags.wait_s is not None,
        }
    )
    if flags.record is not None:
        check_new_file("--record", flags.record)


def _client(
    flags: DoctorFlags, settings: Settings, regions: "Sequence[RegionFacts]", pages: Iterable[Samples]
) -> list[Finding]:
    """Check this client. The answers of the account say in which domain each mount target is.

    Where no agent of this host judges how an address is served, doctor looks itself for requests without a reply.
    """
    boot_hash = boot_hash_of(flags.procfs)
    judged = {address for page in pages for address in addresses_judged(page, boot_hash)}
    domains = {address: zone for facts in regions for address, zone in facts.availability_domains.items()}
    mounts = mount_settings(settings)
    source = Procfs(flags.procfs, flags.pid, mounts.address_map, mounts.services)
    facts = read_client(flags, source, domains)
    limits = judge(flags.shape, settings).limits
    return [
        *check_waits(source.read_in_time, facts.reading, judged),
        *check_mounts(facts),
        *check_network(facts, limits),
        *check_directories(facts),
        *check_exact(facts),
        *check_load_by_process(facts),
    ]


def _account(flags: DoctorFlags, settings: Settings) -> "tuple[list[RegionFacts], list[Finding]]":
    """Return the answers of the account. With a skipped account, say so and return nothing."""
    wanted = flags.account
    if wanted is None:
        wanted = flags.names_an_account or settings.oci.config_file.expanduser().is_file()
        if not wanted:
            tables.note(
                "the account is not checked: no credentials. Give --oci.auth or --oci.config-file, or --no-account"
            )
    if not wanted:
        return [], []
    try:
        from fss_toolbox.cli.doctor_account import ask_accounts  # noqa: PLC0415  # an agent has no OCI SDK
    except ModuleNotFoundError as missing:
        return [], [finding_of("credentials.no-sdk", module=missing.name, install=INSTALL_OCI)]
    return ask_accounts(settings, flags.wait_s or 0.0)


def _write(path: Path, regions: "Sequence[RegionFacts]") -> None:
    """Write the record. One without any answer would replace an earlier record by nothing."""
    if not any(facts.has_answered for facts in regions):
        tables.note(f"{path}: not written, because no region answers")
        return
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    write_file("--record", path, record_json(AccountRecord(1, __version__, now, tuple(regions))))
    tables.note(f"{path}: written. Read the file before you attach it")
