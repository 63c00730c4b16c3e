"""The whole command under faults of its host: nothing is lost but the scrape in hand, the log says why, and it recovers."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.processes import NEVER_S, PROMPT_S, free_port, get, require, serving_url, wait_for
from tests.region import Region, small

from fss_toolbox.demo.recorded_clients import ClientMount, Clients


@dataclass(frozen=True)
class Running:
    """An exporter under test.

    Attributes:
        process: of `serve`.
        url: without path.
        log: where its stderr goes.
        procfs: the tree it reads.
    """

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    procfs: Path

    def value(self, series: str) -> float | None:
        """One series of a scrape, by its text; None where it is absent."""
        match = re.search(rf"^{re.escape(series)} (\S+)$", get(f"{self.url}/metrics"), re.MULTILINE)
        return float(match[1]) if match else None

    def connect(self) -> socket.socket:
        """An open connection."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return socket.create_connection((host, int(port)), timeout=PROMPT_S)

    def logged(self, words: str) -> bool:
        """Whether the log says so."""
        return words in self.log.read_text()


@contextmanager
def serve(directory: Path, *flags: str, address: str = "127.0.0.1:0") -> Iterator[Running]:
    """`serve` on a recorded client, ticking fast."""
    procfs = directory / "proc"
    if not procfs.exists():
        Clients(procfs, (ClientMount("c_randread_1m", "10.80.2.20", "/export/a"),))
    log = directory / f"log{len(list(directory.glob('log*')))}"
    command = [require("fss-exporter", "this project"), "serve", f"--path.procfs={procfs}", "--nfs.tick=20ms"]
    command += [f"--web.listen-address={address}", *flags]
    with log.open("wb") as stderr, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr) as process:
        try:
            yield Running(
                process, wait_for(lambda: serving_url(process, log), f"the exporter to listen, see {log}"), log, procfs
            )
        finally:
            process.kill()


def test_a_procfs_file_that_vanishes_is_reported_and_comes_back(tmp_path: Path) -> None:
    with serve(tmp_path) as running:
        wait_for(lambda: running.value('fss_collector_success{collector="nfs"}') == 1, "the first reading")
        before = running.value("fss_nfs_ticks_total")

        (running.procfs / "1").rename(running.procfs / "gone")
        wait_for(lambda: running.value('fss_collector_success{collector="nfs"}') == 0, "the failure to be seen")
        wait_for(lambda: running.logged("cannot read"), "the log to say so")
        assert running.value("fss_client_operations_total") is None
        (running.procfs / "gone").rename(running.procfs / "1")

        wait_for(lambda: running.value('fss_collector_success{collector="nfs"}') == 1, "the recovery to be seen")
        after = running.value("fss_nfs_ticks_total")
        assert before is not None
        assert after is not None
        assert after > before
        wait_for(lambda: running.logged("can be read again"), "the log to say so")


def test_descriptors_exhausted_cost_readings_and_connections_until_there_are_some_again(tmp_path: Path) -> None:
    with serve(tmp_path) as running, ExitStack() as opened:
        in_use = len(list(Path(f"/proc/{running.process.pid}/fd").iterdir()))
        before = resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE)

        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (in_use, before[1]))
        for _ in range(5):
            opened.enter_context(running.connect())
        wait_for(lambda: running.logged("a connection cannot be accepted"), "the log to say so")
        wait_for(lambda: running.logged("no NFS counters"), "the log to say so")
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, before)

        wait_for(lambda: running.value('fss_collector_success{collector="nfs"}') == 1, "the recovery to be seen")
        wait_for(lambda: running.logged("can be read again"), "the log to say so")


def test_ten_thousand_connections_opened_and_left_do_not_keep_a_scrape_out(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with serve(tmp_path) as running, ExitStack() as opened:
            for _ in range(min(10_000, hard - 1000)):
                opened.enter_context(running.connect())
            # The kernel keeps silent connections to itself for a second.
            wait_for(lambda: running.logged("too many connections: closing one"), "the crowd to be noticed")
            begun = time.monotonic()
            assert "fss_exporter_build_info" in get(f"{running.url}/metrics")
            took = time.monotonic() - begun
            descriptors = running.value("process_open_fds")
            memory = running.value("process_resident_memory_bytes")

            assert took < PROMPT_S
            assert descriptors is not None
            assert descriptors < 400, "256 connections, those that are being closed, and files"
            assert memory is not None
            assert memory < 64 * 1024 * 1024
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_hundred_scrapers_at_once_all_get_an_answer(tmp_path: Path) -> None:
    with serve(tmp_path) as running, ThreadPoolExecutor(100) as scrapers:
        bodies = list(scrapers.map(lambda _: get(f"{running.url}/metrics"), range(300)))

        assert all("fss_client_operations_total" in body for body in bodies)


def test_a_full_disk_behind_the_log_costs_the_log_only(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    procfs = Clients(tmp_path / "proc").root
    command = [require("fss-exporter", "this project"), "serve", f"--path.procfs={procfs}", "--log.level=debug"]
    command.append(f"--web.listen-address={address}")
    with Path("/dev/full").open("wb") as full, subprocess.Popen(command, stdout=full, stderr=full) as process:
        try:
            wait_for(lambda: _serves(address), "an answer")
            for name, value in (("gone", "0.0"), ("1", "1.0")):
                (procfs / ("1" if name == "gone" else "gone")).rename(procfs / name)
                wait_for(
                    partial(_says, address, f'fss_collector_success{{collector="nfs"}} {value}'), "what to log about"
                )
            process.terminate()
            assert process.wait(PROMPT_S) == 0
        finally:
            process.kill()


def _says(address: str, line: str) -> bool:
    return line in get(f"http://{address}/metrics")


def _serves(address: str) -> bool:
    with suppress(OSError):
        return _says(address, "fss_exporter_build_info")
    return False


def test_the_disk_is_never_written(tmp_path: Path) -> None:
    with serve(tmp_path) as running:
        for path in ("/metrics", "/", "/-/ready"):
            get(running.url + path)
        ticks = running.value("fss_nfs_ticks_total")
        wait_for(lambda: (running.value("fss_nfs_ticks_total") or 0) > (ticks or 0) + 10, "ticks")

        assert _opened_to_write(running) <= {str(running.log), "/dev/null"}
        assert _files(tmp_path) == {running.log.name, "mountstats", "mountinfo"}


def _files(directory: Path) -> set[str]:
    return {path.name for path in directory.rglob("*") if path.is_file()}


def _opened_to_write(running: Running) -> set[str]:
    flags = [_open_flags(entry) for entry in Path(f"/proc/{running.process.pid}/fd").iterdir()]
    return {path for path, mode in flags if mode & (os.O_WRONLY | os.O_RDWR) and path.startswith("/")}


def _open_flags(descriptor: Path) -> tuple[str, int]:
    try:
        info = (descriptor.parent.parent / "fdinfo" / descriptor.name).read_text()
        return str(descriptor.readlink()), int(re.search(r"flags:\s*(\d+)", info)[1], 8)  # type: ignore[index]  # always there
    except OSError:
        return "", 0


def test_a_file_system_that_takes_no_byte_changes_nothing(tmp_path: Path) -> None:
    script = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
    script += "from fss_exporter.cli import main; sys.exit(main.run(sys.argv[1:]))"
    procfs = Clients(tmp_path / "proc").root
    address = f"127.0.0.1:{free_port()}"
    flags = ["serve", f"--path.procfs={procfs}", f"--web.listen-address={address}"]
    with subprocess.Popen([sys.executable, "-c", script, *flags], stderr=subprocess.PIPE) as process:
        try:
            wait_for(lambda: _serves(address), "an answer")
            assert "fss-exporter" in get(f"http://{address}/")
            process.terminate()
            _, said = process.communicate(timeout=PROMPT_S)
        finally:
            process.kill()
    assert process.returncode == 0
    assert b"level=error" not in said


def test_killed_in_the_middle_of_a_reading_it_starts_again_on_the_same_address(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    for _ in range(3):
        with serve(tmp_path, address=address) as running, running.connect() as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
            running.process.send_signal(signal.SIGKILL)
            running.process.wait(PROMPT_S)


@contextmanager
def polled_region(directory: Path) -> Iterator[tuple[Region, list[str]]]:
    """A demo region that answers no SummarizeMetricsData in time, and the flags to poll it."""
    with Region(small(), calls_per_second={}) as region:
        region.add_fault(f"slow:SummarizeMetricsData,seconds={NEVER_S:.0f}")
        api_keys = region.account.write_config(directory, region.tenancy.region)
        settings = directory / "settings.yml"
        settings.write_text(
            f"oci: {{config_file: {api_keys}, endpoint: '{region.url}', calls_per_second: 9.9, compartments: [storage],"
            " read_timeout: 600, answer_timeout: 600}"
        )
        yield region, ["--no-collector.nfs", "--collector.oci", f"--config.file={settings}"]


def in_the_middle_of_a_poll(region: Region) -> bool:
    return region.calls.get("SummarizeMetricsData", 0) > 0


def test_killed_in_the_middle_of_a_poll_it_polls_again_after_a_start(tmp_path: Path) -> None:
    with polled_region(tmp_path) as (region, flags):
        with serve(tmp_path, *flags) as running:
            wait_for(partial(in_the_middle_of_a_poll, region), "a poll that hangs")
            running.process.send_signal(signal.SIGKILL)
            running.process.wait(PROMPT_S)
        region.clear_faults()
        with serve(tmp_path, *flags) as running:
            wait_for(lambda: running.value('fss_collector_success{collector="oci"}') == 1, "a whole poll")
            assert not running.logged("level=error")


def test_a_poller_writes_to_no_disk_either(tmp_path: Path) -> None:
    with polled_region(tmp_path) as (region, flags):
        region.clear_faults()
        with serve(tmp_path, *flags) as running:
            before = _files(tmp_path)
            wait_for(lambda: region.calls.get("SummarizeMetricsData", 0) > 5, "a poll under way")
            assert _opened_to_write(running) <= {str(running.log), "/dev/null"}
            assert _files(tmp_path) == before


def test_a_poll_that_hangs_holds_up_neither_health_nor_scrapes_nor_the_end(tmp_path: Path) -> None:
    with polled_region(tmp_path) as (region, flags), serve(tmp_path, *flags) as running:
        wait_for(partial(in_the_middle_of_a_poll, region), "a poll that hangs")
        begun = time.monotonic()
        assert get(f"{running.url}/-/healthy") == "fss-exporter is healthy.\n"
        with pytest.raises(urllib.error.HTTPError, match="503") as waiting:
            get(f"{running.url}/-/ready")
        assert waiting.value.read() == b"fss-exporter waits for a first answer of OCI in every region.\n"
        waiting.value.close()
        assert running.value('fss_collector_starting{collector="oci"}') == 1, "its first round has not ended"
        assert time.monotonic() - begun < PROMPT_S

        begun = time.monotonic()
        running.process.terminate()
        assert running.process.wait(PROMPT_S) == 0
        assert time.monotonic() - begun < PROMPT_S
        assert running.logged("msg=stopped")


def test_a_reading_that_hangs_fails_health_and_readiness_with_the_name_of_the_loop(tmp_path: Path) -> None:
    with serve(tmp_path) as running:
        get(f"{running.url}/-/healthy")
        fifo = running.procfs / "1" / "fifo"
        os.mkfifo(fifo)
        fifo.replace(running.procfs / "1" / "mountstats")  # to open it waits for a writer, for ever

        def answer(path: str) -> tuple[int, str]:
            try:
                return 200, get(f"{running.url}{path}")
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, refused.read().decode()

        wait_for(lambda: answer("/-/healthy")[0] == 503, "the loop to be called stalled")
        assert "not healthy: loop nfs is stalled" in answer("/-/healthy")[1]
        assert "not ready: loop nfs is stalled" in answer("/-/ready")[1]
        assert running.value('fss_collector_success{collector="nfs"}') == 0
        page = get(running.url)
        assert "Collector <strong>nfs</strong> fails or is stalled" in page
        assert "cannot be read, so the mounts are unknown" in page or "10.80." in page
