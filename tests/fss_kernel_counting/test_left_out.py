"""Each limit, filter and refusal of the agent in the table bites here, and its metric, its word of doctor and its alert say so."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from tests.exposition_text import collected
from tests.fss_exporter.nfs.records import mountinfo, mountstats, write_procfs
from tests.fss_kernel_counting.durations.latency_host import LatencyHost, ready
from tests.fss_kernel_counting.host import Host, Mount
from tests.fss_kernel_counting.processes.busy_host import BusyHost
from tests.rules.pack import expressions_of

from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.nfs.collector import Answer, NfsCollector
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.other_namespaces import SEARCH_SECONDS, EveryNamespace
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.records import MOST_OPERATIONS
from fss_exporter.nfs.superblocks import NO_READING, Reading
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.nfs.unaccounted import WINDOW_SECONDS
from fss_exporter.samples import Samples
from fss_exporter.web.collecting import Collectors
from fss_kernel_counting.processes.process_reader import ProcessReader
from fss_kernel_counting.tracefs import OF_AGENT
from fss_toolbox.doctor.findings import texts
from fss_toolbox.doctor.left_out import LeftOut, rows
from fss_toolbox.doctor.running_exporter import check_samples

ROWS = [row for row in rows() if row.of == "agent"]
ADDRESS, FORWARDER = "10.0.0.3", "192.168.255.4"

Look = Callable[[], Iterable[Metric]]
Played = tuple[Look, Callable[[], object]]  # a look at the metrics, and what bites


class Agent:
    """An agent on a procfs tree of the test, with two mounts."""

    def __init__(self, folder: Path, settings: MountSettings | None = None, **flags: object) -> None:
        self.procfs, self._settings = folder / "proc", settings or MountSettings()
        self._flags = NfsFlags(procfs=self.procfs, sysfs=folder, metadata_url="", network="here")
        self.mount()
        self.start(**flags)

    def mount(
        self, address: str = ADDRESS, damage: Callable[[str], str] = str, pid: str = "1", fstype: str = "nfs"
    ) -> None:
        """Mount two exports of a server."""
        names = [(f"{address}:/{name}", f"/mnt/{name}") for name in "ab"]
        stats = "".join(
            mountstats({"READ": 5}, device=device, mount_point=place, fstype=fstype) for device, place in names
        )
        info = "".join(
            mountinfo(superblock=f"0:{number}", device=device, mount_point=place, address=address, fstype=fstype)
            for number, (device, place) in enumerate(names, start=40)
        )
        write_procfs(self.procfs, damage(stats), info, pid=pid)

    def start(self, **flags: object) -> None:
        """Start again with these flags."""
        self._agent = NfsAgent(replace(self._flags, **flags), self._settings)  # type: ignore[arg-type]  # by name

    def state_objective(self) -> None:
        """State a p99 objective, as a reload does."""
        self._agent.judge_by(MountSettings(p99_objectives={"read": 0.1}))

    def look(self) -> Iterable[Metric]:
        """Tick, and return the metrics."""
        self._agent.ticker.tick()
        return collected(self._agent.collector)


def most_mounts(folder: Path) -> Played:
    agent = Agent(folder)
    return agent.look, lambda: agent.start(max_mounts=1)


def filtered_mounts(folder: Path) -> Played:
    agent = Agent(folder)
    return agent.look, lambda: agent.start(mounts_exclude="/mnt/a")


def own_mounts(folder: Path) -> Played:
    agent = Agent(folder)

    def hide() -> None:
        agent.mount(pid="self")
        (agent.procfs / "1" / "mountstats").unlink()

    return agent.look, hide


def unseen_fstab(folder: Path) -> Played:
    (folder / "fstab").write_text("10.0.0.3:/c /mnt/c nfs defaults 0 0\n")
    agent = Agent(folder, fstab=folder / "fstab")
    return agent.look, agent.start


def unread_mounts(folder: Path) -> Played:
    agent = Agent(folder)
    return agent.look, lambda: agent.mount(damage=lambda text: text[: text.index("device", 1)])


def unaccounted_calls(folder: Path) -> Played:
    """Twenty calls a second on mounts that no tick sees."""
    now, calls = [0.0], [0, 0]  # seconds and calls so far, and calls of each second
    (rpc := folder / "1/net/rpc").mkdir(parents=True)
    write_procfs(folder, mountstats({"READ": 5}), mountinfo())
    collector = NfsCollector(ticker := Ticker(Procfs(folder).read, 1.0, lambda: now[0]))

    def look() -> Iterable[Metric]:
        for _ in range(math.ceil(2 * WINDOW_SECONDS) + 2):
            now[0] += 1.0
            calls[0] += calls[1]
            (rpc / "nfs").write_text(f"net 0 0 0 0\nrpc {calls[0]} 0 0\nproc3 2 7 {calls[0]}\n")
            ticker.tick()
        return collected(collector)

    return look, lambda: calls.__setitem__(1, 20)


def broken_record(folder: Path) -> Played:
    agent = Agent(folder)

    def damage() -> None:
        agent.mount(damage=lambda text: text.replace("age:\t", "age:\t?", 1))
        for _ in range(4):
            agent.look()

    return agent.look, damage


def many_operations(folder: Path) -> Played:
    agent = Agent(folder)
    further = "".join(f"\tFURTHER_{number}: 0 0 0 0 0 0 0 0 0\n" for number in range(MOST_OPERATIONS))

    def grow() -> None:
        agent.mount(damage=lambda text: text.replace("per-op statistics\n", f"per-op statistics\n{further}", 1))
        for _ in range(4):
            agent.look()

    return agent.look, grow


def slowed_loop(_: Path) -> Played:
    cpu = [0.0, 0.0]  # seconds so far, and of each tick

    def read() -> Reading:
        cpu[0] += cpu[1]
        return NO_READING

    ticker = Ticker(read, 1.0, cpu_clock=lambda: cpu[0])

    def look() -> Iterable[Metric]:
        ticker.tick()
        return collected(Collectors({}, [ticker.loop]))

    def slow_down() -> None:
        cpu[1] = 0.1
        look()

    return look, slow_down


def slowed_search(folder: Path) -> Played:
    write_procfs(folder, "no device mounted on / with fstype rootfs\n", "")
    now, cpu_s = [0.0], [0.0]  # seconds so far, and CPU of each look at a clock
    cpu_clock = accumulate(iter(lambda: cpu_s[0], None))

    def of_process(number: str) -> Procfs:
        return Procfs(folder, number, sysfs=folder)

    search = EveryNamespace(of_process("1"), of_process, lambda: now[0], lambda: next(cpu_clock))
    collector = NfsCollector(ticker := Ticker(search.read, 1.0))

    def look() -> Iterable[Metric]:
        now[0] += SEARCH_SECONDS
        ticker.tick()
        return collected(collector)

    return look, lambda: cpu_s.__setitem__(0, 1.0)


def unknown_network(folder: Path) -> Played:
    agent = Agent(folder)
    return agent.look, lambda: agent.start(network=None)


def unknown_service(folder: Path) -> Played:
    agent = Agent(folder)
    return agent.look, lambda: agent.mount(fstype="nfs4")


def invisible_calls(_: Path) -> Played:
    host = Host(Mount(40), Mount(41, visible=False))

    def look() -> Iterable[Metric]:
        host.tick()
        return host.costs.families(Answer(addresses={ADDRESS}))

    return look, lambda: host.call(41, "WRITE", 65_536)


def unresolved_forwarder(folder: Path) -> Played:
    agent = Agent(folder)
    return agent.look, lambda: agent.mount(FORWARDER)


def p99_latency(folder: Path) -> Played:
    agent = Agent(folder)
    return agent.look, agent.state_objective


def no_sizes(_: Path) -> Played:
    host = Host()

    def look() -> Iterable[Metric]:
        host.tick()
        return host.costs.families(Answer(addresses={ADDRESS}))

    return look, host.kernel.unload_nfs


def failed_sizes(_: Path) -> Played:
    host = Host()

    def look() -> Iterable[Metric]:
        host.tick()
        return host.costs.families(Answer(addresses={ADDRESS}))

    def differ() -> None:
        host.mounts[40].payload["READ"] += 65_536
        host.tick()

    return look, differ


def failed_durations(folder: Path) -> Played:
    mount = Mount(40)
    host = ready(folder, mount)

    def look() -> Iterable[Metric]:
        host.tick()
        return host.reader.families(Answer(addresses={ADDRESS}))

    return look, lambda: mount.operations.update(READ=5)


def refused_table(_: Path) -> Played:
    host = Host()
    host.mounts.clear()

    def look() -> Iterable[Metric]:
        host.tick()
        return host.costs.families(Answer(addresses={ADDRESS}))

    def refuse() -> None:
        del host.kernel.events["sunrpc/rpc_stats_latency"]
        host.mounts[40] = Mount(40)

    return look, refuse


def refused_table_of_durations(folder: Path) -> Played:
    host = LatencyHost(folder, Mount(40))
    host.mounts.clear()

    def look() -> Iterable[Metric]:
        host.tick()
        return host.reader.families(Answer(addresses={ADDRESS}))

    def refuse() -> None:
        del host.kernel.events["sunrpc/rpc_clnt_new"]
        host.mounts.append(Mount(40))

    return look, refuse


def process_part(folder: Path) -> Played:
    host = BusyHost(folder)
    reader = ProcessReader(host.counting, 2, host.reading, 1, clock=lambda: host.now)

    def look() -> Iterable[Metric]:
        host.now += 10.0
        reader.loop.run_once()
        return reader.families(Answer())

    def lose() -> None:
        host.kernel.instances[OF_AGENT.looks]["nfs/nfs_initiate_read"] = []

    return look, lose


PLAYS: dict[str, Callable[[Path], Played]] = {
    "most-mounts": most_mounts,
    "filtered-mounts": filtered_mounts,
    "own-mounts": own_mounts,
    "unseen-fstab": unseen_fstab,
    "unread-mounts": unread_mounts,
    "unaccounted-calls": unaccounted_calls,
    "broken-record": broken_record,
    "many-operations": many_operations,
    "slowed-loop": slowed_loop,
    "slowed-search": slowed_search,
    "unknown-network": unknown_network,
    "unknown-service": unknown_service,
    "unresolved-forwarder": unresolved_forwarder,
    "p99-latency": p99_latency,
    "no-sizes": no_sizes,
    "failed-sizes": failed_sizes,
    "failed-durations": failed_durations,
    "refused-table": refused_table,
    "refused-table-of-durations": refused_table_of_durations,
    "process-part": process_part,
    "invisible-calls": invisible_calls,
}


def sees_less(samples: Samples) -> bool:
    seen = samples.by("fss_coverage_seen", "part")
    return any(seen[key] < expected for key, expected in samples.by("fss_coverage_expected", "part").items())


# What makes FssCoverageIncomplete pending for a row with this metric. Of other rows it is that a part is missing.
PENDING: dict[str, Callable[[Samples], bool]] = {
    "fss_nfs_records_skipped_total": lambda samples: any(
        count > 3 for count in samples.by("fss_nfs_records_skipped_total", "reason").values()
    ),
    "fss_client_address_requests_total": lambda samples: (
        ("unknown",) in samples.by("fss_client_address_requests_total", "network")
    ),
}


def test_each_row_has_a_play_and_an_alert_or_a_reason_for_none() -> None:
    assert PLAYS.keys() == {row.name for row in ROWS}
    assert [row.name for row in rows() if bool(row.alert) is bool(row.no_alert)] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_left_out_is_said_by_metric_doctor_and_alert(row: LeftOut, tmp_path: Path) -> None:
    look, bite = PLAYS[row.name](tmp_path)
    check, case = row.doctor.split(".")
    message = re.compile(re.sub(r"\\{.*?\\}", ".*", re.escape(texts()[check][case]["message"])))
    severity = texts()[check][case]["severity"]
    is_pending = PENDING.get(row.metric, sees_less)
    read = (row.metric,) if row.metric in PENDING else ("fss_coverage_expected", "fss_coverage_seen")

    def said() -> tuple[bool, bool, bool]:
        samples = Samples(look())
        subjects = {subject for subject, _, _ in row.bitten(samples)}
        words = [
            found
            for found in check_samples(samples)
            if found.severity.name.lower() == severity and message.fullmatch(found.message)
        ]
        is_named = any(not row.subject or found.subject in subjects for found in words)
        return bool(subjects), is_named, bool(row.alert) and is_pending(samples)

    look()
    assert said() == (False, False, False), "nothing is left out yet"
    bite()
    assert said() == (True, True, bool(row.alert))
    assert not row.alert or [name for name in read if name not in expressions_of(row.alert)] == []
