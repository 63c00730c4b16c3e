"""The load by process as the flags of `serve` want it."""

from collections.abc import Callable, Mapping

from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.nfs.exact.tracefs import PLACES
from fss_exporter.nfs.processes.counting import ProcessCounting, Sources
from fss_exporter.nfs.processes.process_reader import ProcessReader
from fss_exporter.nfs.processes.process_session import OF_AGENT
from fss_exporter.nfs.superblocks import Reading


def process_reader(
    flags: NfsFlags, reading: Callable[[], Reading | None], address_map: Mapping[str, str], overrides: CostOverrides
) -> ProcessReader:
    """The loop that counts the load of each process.

    Args:
        flags: of the agent.
        reading: the last reading of mountstats.
        address_map: mount-target address by TLS forwarder address.
        overrides: measured costs in place of the white paper's table.
    """
    sources = Sources(
        tracefs=PLACES if flags.tracefs is None else (flags.tracefs,),
        sysfs=flags.sysfs,
        procfs=flags.procfs,
        pod_logs=flags.pod_logs,
    )
    counting = ProcessCounting(
        OF_AGENT, writers=flags.writers, sources=sources, address_map=address_map, overrides=overrides
    )
    return ProcessReader(counting, flags.processes, reading, flags.scrapers)
