import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import PATIENCE_S, Stopwatch, get, require, serving_url, wait_for
from tests.prompt import Answer, ask_each

from fss_toolbox.demo.recorded_clients import ClientMount, Clients

# Seconds of CPU time until the first answer. Less than 0.5 s are used; a busy machine needs more of the clock and hardly more CPU.
STARTS_WITH_S = 2.0


def procfs(directory: Path) -> Path:
    """A procfs tree of a host without NFS mounts."""
    (directory / "1").mkdir(parents=True)
    (directory / "1" / "mountstats").write_text("device proc mounted on /proc with fstype proc\n")
    (directory / "1" / "mountinfo").write_text("22 27 0:20 / /proc rw - proc proc rw\n")
    return directory


@contextmanager
def serve(directory: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """A running `serve`: process, URL, log file."""
    tree = directory / "proc"
    if not tree.exists():
        procfs(tree)
    log = directory / "log"
    command = [require("fss-exporter", "this project"), "serve", f"--path.procfs={tree}", *flags]
    if not any("listen-address" in flag for flag in flags):
        command.append("--web.listen-address=127.0.0.1:0")
    with log.open("wb") as stderr, subprocess.Popen(command, stdout=stderr, stderr=stderr) as running:
        try:
            yield running, wait_for(lambda: serving_url(running, log), f"the exporter to listen, see {log}"), log
        finally:
            running.kill()


WRONG: list[tuple[list[str], str]] = [
    (["--web.listen-address=10949"], "--web.listen-address=10949: give HOST:PORT"),
    (["--web.listen-address=::1:10949"], "--web.listen-address=::1:10949: give HOST:PORT"),
    (["--web.listen-address=:99999"], "--web.listen-address=:99999: give HOST:PORT"),
    (["--web.listen-address=:-1"], "--web.listen-address=:-1: give HOST:PORT"),
    (["--web.listen-address=192.0.2.1:0"], "--web.listen-address=192.0.2.1:0: not an address of this host"),
    (["--web.listen-address=no such host:0"], "--web.listen-address=no such host:0: Name or service not known"),
    (["--web.listen-address=a..b:0"], "--web.listen-address=a..b:0: not the name of a host"),
    (["--web.telemetry-path=metrics"], "--web.telemetry-path=metrics: give a path like /metrics"),
    (["--web.telemetry-path=/"], "--web.telemetry-path=/: give a path like /metrics"),
    (["--web.telemetry-path=/métriques"], "--web.telemetry-path=/métriques: give a path like /metrics"),
    (["--web.telemetry-path=/-/ready"], "--web.telemetry-path=/-/ready: give a path like /metrics"),
    (["--web.telemetry-path=/runbook"], "--web.telemetry-path=/runbook: give a path like /metrics"),
    (["--web.telemetry-path=//metrics"], "--web.telemetry-path=//metrics: give a path like /metrics"),
    (["--web.config.file=/nowhere.yml"], "'--web.config.file': File '/nowhere.yml' does not exist"),
    (["--config.file=/nowhere.yml"], "'--config.file': File '/nowhere.yml' does not exist"),
    (["--path.pid=init"], "--path.pid=init: give a process number or self"),
    (["--nfs.mounts-exclude=("], "--nfs.mounts-exclude=(: not a regular expression"),
    (["--nfs.scrapers=0"], "'--nfs.scrapers': 0 is not in the range"),
    (["--nfs.tick=0s"], "'--nfs.tick': must be longer than 0"),
    (["--nfs.tick=fast"], "'--nfs.tick': 'fast' is not a length of time"),
    (["--log.level=chatty"], "'--log.level': 'chatty' is not one of"),
    (["--nfs.exact.rtt"], "--nfs.exact.rtt: the kernel counts in exact mode only. Add --nfs.exact=auto"),
    (["--nfs.exact=maybe"], "'--nfs.exact': 'maybe' is not one of"),
    (["--no-collector.nfs", "--collector.oci", "--nfs.exact=on"], "--nfs.exact=on: there is nothing to count"),
    (
        ["--nfs.exact.processes=5"],
        "--nfs.exact.processes=5: the kernel counts in exact mode only. Add --nfs.exact=auto",
    ),
    (["--nfs.exact.processes=-1"], "'--nfs.exact.processes': -1 is not in the range"),
    (["--nfs.exact.writers"], "--nfs.exact.writers: no process is counted. Add --nfs.exact.processes=10"),
    (["--no-collector.nfs"], "nothing to collect: leave out --no-collector.nfs or give --collector.oci"),
]


@pytest.fixture(scope="module")
def refusals() -> dict[str, Answer]:
    """What `serve` says to each wrong line of flags."""
    lines = [["serve", "--web.listen-address=127.0.0.1:0", *flags] for flags, _ in WRONG]
    return {
        " ".join(flags): answer
        for (flags, _), answer in zip(WRONG, ask_each(*((line, {}) for line in lines)), strict=True)
    }


def test_bad_input_is_one_line_that_names_the_flag_and_the_fix(refusals: dict[str, Answer]) -> None:
    for flags, complaint in WRONG:
        refused = refusals[" ".join(flags)]

        assert refused.code == 2, flags
        assert refused.out == "", flags
        assert refused.err.count("\n") == 1, flags
        assert complaint in refused.err, flags


def test_missing_exact_mode_that_is_required_is_reported_with_the_fix(tmp_path: Path) -> None:
    flags = [f"--path.procfs={procfs(tmp_path)}", "--nfs.exact=on", "--path.tracefs=/nowhere"]
    command = [sys.executable, "-m", "fss_exporter", "serve", "--web.listen-address=127.0.0.1:0", *flags]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert refused.returncode == 2
    expected = (
        "fss-exporter: --nfs.exact=on: no tracefs at /nowhere: mount -t tracefs tracefs /nowhere, "
        "or name it with --path.tracefs"
    )
    assert refused.stderr.splitlines()[-1] == expected


def test_missing_exact_mode_is_reported_once_and_costs_are_estimated(tmp_path: Path) -> None:
    with serve(tmp_path, "--nfs.exact=auto", "--path.tracefs=/nowhere", "--nfs.tick=10ms") as (_, url, log):
        wait_for(lambda: float(sample(url, "fss_nfs_ticks_total ")) >= 5, "five ticks")
        assert sample(url, "fss_nfs_exact_active ") == "0.0"
        assert log.read_text().count("are estimated, not counted: no tracefs at /nowhere") == 1


def test_the_load_by_process_that_cannot_be_counted_costs_nothing_else_and_says_why(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[2] / "fixtures/procfs/first", tmp_path / "proc")
    flags = ("--nfs.exact=auto", "--nfs.exact.processes=5", "--nfs.exact.writers", "--path.tracefs=/nowhere")
    with serve(tmp_path, *flags) as (_, url, log):
        refused = 'fss_nfs_process_part_failures_total{part="instance",reason="refused"} '
        wait_for(lambda: refused in get(f"{url}/metrics"), "the first look")
        assert sample(url, refused) == "1.0"
        assert sample(url, 'fss_nfs_process_part_active{part="reads"} ') == "0.0"
        assert sample(url, 'fss_collector_success{collector="nfs_processes"} ') == "1.0"
        assert log.read_text().count("no load by process: no tracefs at /nowhere: mount -t tracefs") == 1
        assert get(f"{url}/-/healthy")


def sample(url: str, name: str) -> str:
    (line,) = (line for line in get(f"{url}/metrics").splitlines() if line.startswith(name))
    return line.rpartition(" ")[2]


def test_a_taken_port_is_reported_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        free = "127.0.0.1:0"
        flags = [f"--web.listen-address={free}", f"--web.listen-address={address}"]
        command = [sys.executable, "-m", "fss_exporter", "serve", f"--path.procfs={procfs(tmp_path)}", *flags]
        refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert refused.returncode == 2
    expected = f"fss-exporter: --web.listen-address={address}: another process or another --web.listen-address listens there. Give another port\n"
    assert refused.stderr == expected


@pytest.fixture(scope="module")
def stats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """An exporter on three addresses with another path of its metrics: URL and log file."""
    flags = ["--web.listen-address=127.0.0.1:0", "--web.listen-address=[::1]:0", "--web.listen-address=:0"]
    with serve(tmp_path_factory.mktemp("stats"), "--web.telemetry-path=/stats", *flags) as (_, url, log):
        yield url, log


def test_several_addresses_are_served(stats: tuple[str, Path]) -> None:
    lines = [line for line in stats[1].read_text().splitlines() if "listening on " in line]
    urls = [line.partition("listening on ")[2].strip('"') for line in lines]

    assert len(urls) == 3
    for url in urls:
        assert "fss_exporter_build_info" in get(url.replace("[::]", "127.0.0.1"))


def test_the_usual_pages_are_there(stats: tuple[str, Path]) -> None:
    url, _ = stats
    assert get(f"{url}/-/healthy") == "fss-exporter is healthy.\n"
    assert get(f"{url}/-/ready") == "fss-exporter is ready.\n"
    assert "/stats" in get(f"{url}/")
    for path in ("/metrics", "/stats/", "/-/", "/favicon.ico"):
        with pytest.raises(urllib.error.HTTPError, match="404") as missing:
            get(f"{url}{path}")
        missing.value.close()


def test_the_process_is_described_with_its_python_and_without_series_by_process(stats: tuple[str, Path]) -> None:
    metrics = get(f"{stats[0]}/stats")

    names = {line.partition(" ")[0].partition("{")[0] for line in metrics.splitlines() if not line.startswith("#")}
    assert {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"} <= names
    assert f'python_version="{platform.python_version()}"' in metrics
    assert not [name for name in names if name.endswith("_created") or name.startswith("python_")]
    assert "fss_client_process_" not in metrics
    assert "fss_nfs_process_" not in metrics


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_within_a_second_even_with_clients_connected(tmp_path: Path, number: signal.Signals) -> None:
    """Seconds in which a busy machine lets neither of the two run do not count."""
    with serve(tmp_path) as (running, url, log):
        host, _, port = url.removeprefix("http://").rpartition(":")
        with socket.create_connection((host, int(port))) as idle:
            idle.sendall(b"GET ")  # the kernel keeps a connection to itself until its client sends something
            get(f"{url}/metrics")
            stopwatch = Stopwatch(running.pid)
            running.send_signal(number)
            os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)  # ended, and /proc still has its figures
            took = stopwatch.seconds()
            code = running.wait()
            assert idle.recv(1) == b""

        assert code == 0
        assert took < 1.0
        assert log.read_text().splitlines()[-1].endswith("msg=stopped")


@contextmanager
def starting(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A `serve` whose first reading hangs, as on a busy host, and its log file."""
    slow = procfs(tmp_path / "proc") / "1" / "mountstats"
    slow.unlink()
    os.mkfifo(slow)
    log = tmp_path / "log"
    flags = f"--path.procfs={tmp_path / 'proc'}", "--web.listen-address=127.0.0.1:0"
    command = [require("fss-exporter", "this project"), "serve", *flags]
    with log.open("wb") as stderr, subprocess.Popen(command, stdout=stderr, stderr=stderr) as running:
        try:
            writer = wait_for(lambda: opened_by_a_reader(slow), "the first reading")
            yield running, log
            os.close(writer)
        finally:
            running.kill()


def opened_by_a_reader(pipe: Path) -> int:
    """A descriptor to write to the pipe. 0 before the other end is open."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return 0


def test_a_signal_during_the_start_takes_down_what_was_set_up(tmp_path: Path) -> None:
    with starting(tmp_path) as (running, log):
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE_S) == 0
        assert "msg=stopped" in log.read_text()


def test_a_second_signal_does_not_interrupt_the_stop(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from fss_exporter.cli import main, runtime
from fss_exporter.cli.nfs_agent import NfsAgent
served, number, stop = runtime.serve, signal.SIGTERM, NfsAgent.stop

def stop_late(agent):
    os.kill(os.getpid(), number)
    stop(agent)
    print("stopped", flush=True)

NfsAgent.stop = stop_late
signal_self = {"on_listening": lambda _: os.kill(os.getpid(), number)}
runtime.serve = lambda *parts, **more: served(*parts, **more | signal_self)
sys.exit(main.run(sys.argv[1:]))
"""
    flags = f"--path.procfs={procfs(tmp_path)}", "--web.listen-address=127.0.0.1:0"
    command = [sys.executable, "-c", script, "serve", *flags]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_an_import_of_the_start_ends_it_in_silence(number: signal.Signals) -> None:
    script = f"""
import os, sys
from fss_exporter.__main__ import main

class Signal:
    def find_spec(self, *_):
        os.kill(os.getpid(), {number.value})

sys.meta_path.insert(0, Signal())
main()
"""
    command = [sys.executable, "-c", script, "serve", "--web.listen-address=127.0.0.1:0"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_reload_at_any_import_of_the_start_ends_nothing(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from fss_exporter.__main__ import main

class Hangup:
    def find_spec(self, *_):
        os.kill(os.getpid(), signal.SIGHUP)

sys.meta_path.insert(0, Hangup())
main()
"""
    log = tmp_path / "log"
    flags = f"--path.procfs={procfs(tmp_path)}", "--web.listen-address=127.0.0.1:0"
    with (
        log.open("wb") as stderr,
        subprocess.Popen([sys.executable, "-c", script, "serve", *flags], stderr=stderr) as ran,
    ):
        wait_for(lambda: ran.poll() is not None or "listening on" in log.read_text(), "the start")
        ran.send_signal(signal.SIGTERM)
        assert ran.wait(PATIENCE_S) == 0, log.read_text()


def test_a_reload_during_the_start_waits_until_the_start_ends(tmp_path: Path) -> None:
    with starting(tmp_path) as (running, log):
        running.send_signal(signal.SIGHUP)
        wait_for(lambda: "configuration read again" in log.read_text(), f"the reload, see {log}")


def test_reload_by_request_and_by_signal(tmp_path: Path) -> None:
    web = tmp_path / "web.yml"
    web.write_text("{}")
    with serve(tmp_path, f"--web.config.file={web}") as (running, url, log):
        reload = urllib.request.Request(f"{url}/-/reload", method="POST")
        with urllib.request.urlopen(reload, timeout=120) as response:
            assert response.read() == b"configuration read again.\n"

        web.write_text("nonsense: 1")
        with pytest.raises(urllib.error.HTTPError, match="500") as refused:
            urllib.request.urlopen(reload, timeout=120)
        assert refused.value.read().startswith(b"kept the old configuration: ")
        refused.value.close()

        web.write_text("http_server_config: {headers: {X-Frame-Options: deny}}")
        before = log.read_text().count("configuration read again")
        running.send_signal(signal.SIGHUP)
        wait_for(lambda: log.read_text().count("configuration read again") > before, "the configuration to be read")
        with urllib.request.urlopen(f"{url}/-/healthy", timeout=120) as response:
            assert response.headers["X-Frame-Options"] == "deny"


def test_a_changed_address_map_is_reported_to_need_a_restart(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yml"
    settings.write_text("address_map: {192.168.255.9: 10.80.2.20}")
    clients = Clients(tmp_path / "proc", (ClientMount("c_randread_1m", "192.168.255.9", "/export/a"),))
    with serve(tmp_path, f"--config.file={settings}", "--nfs.tick=50ms") as (running, url, log):
        clients.advance()
        wait_for(lambda: 'fss_client_mount_info{address="10.80.2.20"' in get(f"{url}/metrics"), "the first reading")

        settings.write_text("address_map: {192.168.255.9: 10.80.3.30}")
        running.send_signal(signal.SIGHUP)
        wait_for(lambda: "address_map has changed, which takes a restart" in log.read_text(), "the log to say so")
        assert "10.80.3.30" not in get(f"{url}/metrics")


def test_the_first_answer_takes_little_cpu_time(tmp_path: Path) -> None:
    with serve(tmp_path) as (_, url, _):
        (used,) = re.findall(r"^process_cpu_seconds_total (\S+)$", get(f"{url}/metrics"), re.MULTILINE)

    assert float(used) < STARTS_WITH_S


def test_the_agent_imports_nothing_it_does_not_use(tmp_path: Path) -> None:
    script = """
import json, os, signal, sys, threading
from fss_exporter.cli import main, runtime

def report(urls):
    def ask():
        loaded = sorted(sys.modules)
        from http.client import HTTPConnection
        connection = HTTPConnection(urls[0].split("/")[2], timeout=120)
        connection.request("GET", "/metrics")
        assert connection.getresponse().status == 200
        print(json.dumps(loaded), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=ask).start()

served = runtime.serve
runtime.serve = lambda *parts, **more: served(*parts, **{**more, "on_listening": report})
sys.exit(main.run(sys.argv[1:]))
"""
    flags = ["serve", "--collector.nfs", f"--path.procfs={procfs(tmp_path)}", "--web.listen-address=127.0.0.1:0"]
    flags.append(f"--path.tracefs={tmp_path}")  # nothing is left here that a start would remove
    ran = subprocess.run(
        [sys.executable, "-c", script, *flags], capture_output=True, text=True, check=True, timeout=120
    )
    loaded = json.loads(ran.stdout)

    roots = {name.partition(".")[0] for name in loaded}
    unwanted = {
        "oci",
        "pydantic",
        "yaml",
        "jinja2",
        "rich",
        "bcrypt",
        "requests",
        "cryptography",
        "hypothesis",
        "asyncio",
    }
    assert roots & unwanted == set()
    others = ("fss_exporter.oci", "fss_toolbox", "fss_kernel_counting", "fss_exporter.settings")
    assert [name for name in loaded if name.startswith(others)] == []


def test_a_main_thread_that_never_ends_does_not_keep_the_process_after_a_signal() -> None:
    script = """
import logging, time
from fss_exporter.cli import runtime
logging.basicConfig()
runtime.LONGEST_END_SECONDS = 0.2
signals = runtime.Signals()
print("ready", flush=True)
while True:
    time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGTERM)
        _, log = running.communicate(timeout=PATIENCE_S)

    assert running.returncode == 1
    assert "the process ends without its clean-up" in log
