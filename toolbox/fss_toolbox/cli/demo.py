# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter demo`: the exporter on recorded clients and a loopback OCI region. No account, nothing left behind."""

import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import click

from fss_exporter import DEFAULT_PORT
from fss_exporter.cli import logs
from fss_exporter.cli.serve import ServeFlags, run
from fss_exporter.cli.terminal import end_by_signals
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import FilePath, flag, switch, takes
from fss_toolbox.demo.first_poll import FirstPoll
from fss_toolbox.demo.recorded_clients import Clients
from fss_toolbox.demo.region import Region, large, small
from fss_toolbox.demo.region.charges import ChargeTable
from fss_toolbox.demo.region.faults import DEMO_KINDS
from fss_toolbox.demo.server_meter import ServerMeter
from fss_toolbox.fetch import get

UTILISATION = "mount_target_resource:fss_utilisation:ratio"  # The recorded series of the share of each ceiling in use


def _listed(title: str, kinds: Mapping[str, str]) -> str:
    return "\n".join((f"\b\n{title}", *(f"  {kind:<12} {what}" for kind, what in kinds.items())))


# A capacity of 300 GiB serves 45 MiB/s; the recorded client reads nearly as much.
NAS_SETTINGS = {"server": "*.nas.aliyuncs.com", "service": "apsara-nas", "type": "capacity", "capacity": "300GiB"}

_HELP = f"""Try the exporter with recorded NFS clients and a loopback OCI region.

A fault is KIND[:OPERATION][,NAME=VALUE]..., as in 429:SummarizeMetricsData,times=3 or slow:List*,seconds=20. `times`
heals the fault after that number of answers, `match` limits it to requests that hold a text. Faults can be set while the demo
runs: POST {{"fault": "..."}} to /control/faults of the region.

{_listed("Faults of an answer:", DEMO_KINDS.wire)}

{_listed("Faults of the data, from now on:", DEMO_KINDS.data)}
"""


@dataclass(frozen=True, kw_only=True)
class DemoFlags:
    """The flags of `demo`."""

    listen_address: str = flag(
        "--web.listen-address --listen-address",
        "Where the metrics are served.",
        f"127.0.0.1:{DEFAULT_PORT}",
        metavar="HOST:PORT",
    )
    faults: tuple[str, ...] = flag("--fault", "Fault to inject. Repeatable.", (), metavar="FAULT")
    region_only: bool = switch("--region-only", "Only the OCI region, for the OCI CLI or an exporter of your own.")
    region_port: int = flag(
        "--region-port", "Port of the region. 0 takes a free port.", 0, type=click.IntRange(0, 65535)
    )
    mount_targets: int | None = flag(
        "--mount-targets",
        "A large tenancy of N mount targets with four file systems each, in place of the small one.",
        type=click.IntRange(1, 65_000),
        metavar="N",
    )
    charge: str | None = flag(
        "--charge",
        "Charge this mount target with what the NFS server of this host serves, e.g. mt-idle, to try calibrate.",
        metavar="MOUNT_TARGET",
    )
    charge_table: Path | None = flag(
        "--charge.table",
        "Costs of real requests that differ from the white paper, as YAML.",
        type=FilePath(exists=True, dir_okay=False, path_type=Path),
    )
    charge_counters: Path = flag(
        "--charge.counters",
        "Counters of the NFS server.",
        Path("/proc/net/rpc/nfsd"),
        type=FilePath(dir_okay=False, path_type=Path),
    )
    log_level: str = flag("--log.level", "Least severe lines of the log.", "warn", type=click.Choice(logs.LEVELS))


@click.command(help=_HELP)
@takes(DemoFlags)
def demo(flags: DemoFlags) -> None:
    """Wire region, clients and exporter. The command above has the help."""
    logs.configure(flags.log_level, "logfmt")
    end_by_signals(exit_code=0)
    with TemporaryDirectory(prefix="fss-exporter-demo-") as folder, ExitStack() as undo:
        region = _started(flags)
        undo.callback(region.stop)
        if flags.charge is not None:
            meter = _meter(region, flags.charge, flags.charge_counters)
            meter.start()
            undo.callback(meter.stop)
        credentials = region.account.write_config(Path(folder), region.tenancy.region)
        if flags.region_only:
            click.echo(_text("region", region, credentials))
            sys.stdout.flush()
            while True:
                signal.pause()
        clients = Clients(Path(folder) / "proc")
        clients.start()
        undo.callback(clients.stop)
        options = ServeFlags(
            listen_addresses=(flags.listen_address,),
            procfs=clients.root,
            collect_oci=True,
            api_key_file=str(credentials),
            endpoint=region.url,
            network=region.tenancy.region,
            further_settings={
                "oci.poll_interval": 15.0,
                "oci.inventory_interval": 60.0,
                "oci.calls_per_second": 9.0,
                "oci.services": ("lustre", "block-volume"),
                "services": [NAS_SETTINGS],
            },
        )

        def listens(urls: Sequence[str]) -> None:
            click.echo(_text("exporter", region, credentials, urls[0]))
            name = region.tenancy.mount_targets[0].name
            first_poll = FirstPoll(partial(get, urls[0]), name, partial(_say_first_poll, urls[0], name))
            first_poll.start()
            undo.callback(first_poll.stop)

        run(options, on_listening=listens)


def _say_first_poll(metrics: str, mount_target: str, series: Sequence[str]) -> None:
    command = f"curl -s {metrics} | grep '^fss_mount_target_iops.*{mount_target}'"
    click.echo(
        "\n".join(("", "First poll ended. Load and ceiling, with short OCIDs:", "", f"    {command}", "", *series))
    )


def _started(flags: DemoFlags) -> Region:
    try:
        faults = [DEMO_KINDS.parse(fault) for fault in flags.faults]  # before a large tenancy is built
        charges = None if flags.charge_table is None else ChargeTable.of_file(flags.charge_table)
        region = Region(large(flags.mount_targets) if flags.mount_targets else small(), charges=charges)
        for fault in faults:
            region.add_fault(fault)
        region.start(port=flags.region_port)
    except LookupError as unknown:
        raise UsageError(f"--fault: {unknown}") from unknown
    except OSError as error:
        where = f"--region-port={flags.region_port}"
        raise UsageError(f"{where}: cannot listen on 127.0.0.1: {error.strerror or error}") from error
    return region


def _meter(region: Region, mount_target: str, counters: Path) -> ServerMeter:
    try:
        region.charge(mount_target, ())
        return ServerMeter(counters.read_text, lambda requests: region.charge(mount_target, requests))
    except LookupError as unknown:
        raise UsageError(f"--charge: {unknown}") from unknown
    except OSError as error:
        raise UsageError(f"--charge.counters={counters}: no NFS server: {error.strerror or error}") from error
    except UsageError as error:
        raise UsageError(f"--charge.counters={counters}: {error}") from error


def _text(name: str, region: Region, credentials: Path, metrics: str = "") -> str:
    """Return a text of `demo/texts`, with the addresses and credentials of this demo."""
    text = files("fss_toolbox.demo").joinpath("texts", f"{name}.txt").read_text(encoding="utf-8")
    return Template(text.rstrip("\n")).substitute(
        # `make demo` runs a command that is not on the PATH of a new clone.
        program="fss-exporter" if shutil.which("fss-exporter") else sys.argv[0],
        region_url=region.url,
        region=region.tenancy.region,
        mount_targets=len(region.tenancy.mount_targets),
        tenancy=region.tenancy.id,
        topic=region.tenancy.topics[0],
        credentials=credentials,
        metrics=metrics,
        page=f"{metrics.removesuffix('/metrics')}/",
        host=urlsplit(metrics).netloc,
        utilisation=UTILISATION,
    )
