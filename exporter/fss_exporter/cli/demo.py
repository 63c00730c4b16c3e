"""`fss-exporter demo`: the exporter on recorded clients and a loopback OCI region. No account, nothing left behind."""

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import click

from fss_exporter import DEFAULT_PORT
from fss_exporter.cli import logs
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.cli.serve import ServeFlags, run
from fss_exporter.demo.recorded_clients import Clients
from fss_exporter.demo.region import Region, large, small
from fss_exporter.demo.region.faults import DATA_KINDS, WIRE_KINDS, FaultKinds
from fss_exporter.errors import UsageError

UTILISATION = "mount_target:fss_utilisation:ratio"  # The recorded series of the share of each ceiling in use


def _listed(title: str, kinds: Mapping[str, str]) -> str:
    return "\n".join((f"\b\n{title}", *(f"  {kind:<12} {what}" for kind, what in kinds.items())))


_NAS = {"server": "*.nas.aliyuncs.com", "service": "apsara-nas", "type": "capacity", "capacity": "300GiB"}
# A capacity of 300 GiB serves 45 MiB/s; the recorded client reads nearly as much.

_HELP = f"""Try the exporter with recorded NFS clients and a loopback OCI region.

A fault is KIND[:OPERATION][,NAME=VALUE]..., as in 429:SummarizeMetricsData,times=3 or slow:List*,seconds=20. `times`
heals the fault after that number of answers, `match` limits it to requests that hold a text. Faults can be set while the demo
runs: POST {{"fault": "..."}} to /control/faults of the region.

{_listed("Faults of an answer:", WIRE_KINDS)}

{_listed("Faults of the data, from now on:", DATA_KINDS)}
"""


@click.command(help=_HELP)
@click.option(
    "--web.listen-address",
    "--listen-address",
    "listen_address",
    default=f"127.0.0.1:{DEFAULT_PORT}",
    show_default=True,
    metavar="HOST:PORT",
    help="Where the metrics are served.",
)
@click.option("--fault", "faults", multiple=True, metavar="FAULT", help="Fault to inject. Repeatable.")
@click.option("--region-only", is_flag=True, help="Only the OCI region, for the OCI CLI or an exporter of your own.")
@click.option(
    "--region-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the region. 0 takes a free port.  [default: 0]",
)
@click.option(
    "--mount-targets",
    type=click.IntRange(1, 65_000),
    metavar="N",
    help="A large tenancy of N mount targets with four file systems each, in place of the small one.",
)
@click.option("--log.level", "log_level", type=click.Choice(logs.LEVELS), default="warn", show_default=True)
def demo(
    *,
    listen_address: str,
    faults: tuple[str, ...],
    region_only: bool,
    region_port: int,
    mount_targets: int | None,
    log_level: str,
) -> None:
    """Wire region, clients and exporter; see the help of the command above."""
    logs.configure(log_level, "logfmt")
    for fault in faults:
        FaultKinds().parse(fault)
    with (
        TemporaryDirectory(prefix="fss-exporter-demo-") as folder,
        _region(faults, region_port, mount_targets) as region,
    ):
        credentials = region.account.write_config(Path(folder), region.tenancy.region)
        if region_only:
            click.echo(_how_to_ask(region, credentials))
            _wait_for_a_signal()
            return
        with _clients(Path(folder) / "proc") as procfs:
            options = ServeFlags(
                listen_addresses=(listen_address,),
                nfs=NfsFlags(procfs=procfs),
                collect_oci=True,
                oci={
                    "oci.config_file": str(credentials),
                    "oci.endpoint": region.url,
                    "oci.poll_interval": 15.0,
                    "oci.inventory_interval": 60.0,
                    "oci.calls_per_second": 9.0,
                    "oci.services": ("lustre", "block-volume"),
                    "services": [_NAS],
                },
            )
            run(options, on_listening=lambda urls: click.echo(_what_to_see(urls, region, credentials)))


@contextmanager
def _region(faults: Sequence[str], port: int, mount_targets: int | None) -> Iterator[Region]:
    region = Region(large(mount_targets) if mount_targets else small())
    try:
        for fault in faults:
            region.add_fault(fault)
    except LookupError as unknown:
        raise UsageError(f"--fault: {unknown}") from unknown
    try:
        region.start(port=port)
    except OSError as error:
        raise UsageError(f"--region-port={port}: cannot listen on 127.0.0.1: {error.strerror or error}") from error
    try:
        yield region
    finally:
        region.stop()


@contextmanager
def _clients(root: Path) -> Iterator[Path]:
    """Recorded clients that play on a private procfs tree."""
    root.mkdir()
    clients = Clients(root)
    clients.start()
    try:
        yield root
    finally:
        clients.stop()


def _what_to_see(urls: Sequence[str], region: Region, credentials: Path) -> str:
    return "\n".join(
        (
            "",
            f"Metrics      {urls[0]}  (page: {urls[0].removesuffix('/metrics')}/)",
            f"OCI region   {region.url}  ({region.tenancy.region}, {len(region.tenancy.mount_targets)} mount targets)",
            f"Tenancy      {region.tenancy.id}",
            f"Credentials  {credentials}",
            "",
            "Which operations cause the load?",
            "",
            f"    fss-exporter iostat --url {urls[0]} --by operation 5",
            "",
            *_how_to_draw(urls[0]),
            *_how_to_make_alarms(region, credentials),
            "The first poll of OCI takes some seconds. Ctrl-C ends the demo and removes its files.",
        )
    )


def _how_to_draw(url: str) -> tuple[str, ...]:
    """Return the steps from the metrics to rules in Prometheus and dashboards in Grafana."""
    return (
        "With Prometheus and Grafana:",
        "",
        "    fss-exporter assets fss-assets",
        f"    Prometheus  scrape_configs: [{{job_name: fss, static_configs: [{{targets: ['{urlsplit(url).netloc}']}}]}}]",
        "                rule_files: [fss-assets/rules/recording.yml, fss-assets/rules/alerts.yml]",
        "    Grafana     Dashboards > New > Import: fss-assets/dashboards/*.json, with the Prometheus data source",
        f"    Query       {UTILISATION}  (the share of each ceiling in use)",
        "",
    )


def _how_to_ask(region: Region, credentials: Path) -> str:
    tenancy = region.tenancy
    return "\n".join(
        (
            f"OCI region   {region.url}  ({tenancy.region}, {len(tenancy.mount_targets)} mount targets)",
            f"Tenancy      {tenancy.id}",
            f"Credentials  {credentials}",
            "",
            "With the OCI CLI:",
            "",
            f"    oci --endpoint {region.url} --config-file {credentials} \\",
            f"        monitoring metric-data summarize-metrics-data --compartment-id {tenancy.id} \\",
            "        --compartment-id-in-subtree true --namespace oci_filestorage \\",
            "        --query-text 'MountTargetIOPS[1m].groupBy(resourceId).max()'",
            "",
            "With an exporter of your own:",
            "",
            f"    fss-exporter serve --no-collector.nfs --collector.oci --oci.endpoint {region.url} \\",
            f"        --oci.config-file {credentials}",
            "",
            *_how_to_make_alarms(region, credentials),
            "Turn its knobs:",
            "",
            f"    curl -H 'content-type: application/json' -d '{{\"fault\": \"503:List*,times=3\"}}' {region.url}/control/faults",
            "",
            "Ctrl-C ends the region; nothing stays behind.",
        )
    )


def _how_to_make_alarms(region: Region, credentials: Path) -> tuple[str, ...]:
    tenancy = region.tenancy
    return (
        "With alarms:",
        "",
        f"    fss-exporter alarms apply --oci.endpoint {region.url} --oci.config-file {credentials} \\",
        f"        --compartment {tenancy.id} --in-subtree --topic {tenancy.topics[0]}",
        "",
    )


def _wait_for_a_signal() -> None:
    """Wait until SIGINT or SIGTERM; both end the command with success."""
    sys.stdout.flush()
    wanted = {signal.SIGINT, signal.SIGTERM}
    for number in wanted:
        signal.signal(number, lambda *_: None)
    signal.sigwait(wanted)
