"""`fss-exporter demo` as an operator runs it: a process of its own, stopped by a signal."""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import oci
import pytest
from tests.processes import PATIENCE_S, get, require, wait_for
from tests.prompt import ask, ask_each, ask_process

SHOWN = (
    "fss_client_peak_estimated_iops{",
    'fss_mount_target_info{address="10.',
    "fss_mount_target_iops{",
    "fss_mount_target_estimated_iops_upper_bound{",
    "fss_service_read_bytes_per_second{",
    "fss_service_bytes_per_second_limit{",
    'service="lustre"',
    'service="block-volume"',
    "fss_client_service_info{",
)


@dataclass
class Demo:
    """A running demo. `said()` is its standard output so far."""

    process: subprocess.Popen[str]
    out: Path
    err: Path
    temporary: Path

    def said(self) -> str:
        return self.out.read_text()

    def printed(self, pattern: str) -> str:
        """What the first group of a pattern matches in the output, once it is there."""

        def look() -> str:
            assert self.process.poll() is None, self.err.read_text()
            match = re.search(pattern, self.said())
            return match[1] if match else ""

        return wait_for(look, f"{pattern} in {self.out}")

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


@contextmanager
def running(
    tmp_path: Path, *flags: str, program: str = "", hangup: signal.Handlers = signal.SIG_DFL, **more: str
) -> Iterator[Demo]:
    """A demo that inherits how SIGHUP is handled: the tests themselves may run under nohup."""
    out, err, temporary = tmp_path / "out", tmp_path / "err", tmp_path / "temporary"
    temporary.mkdir()
    with out.open("w") as to_out, err.open("w") as to_err:
        command = [program or require("fss-exporter", "this project"), "demo", *flags]
        environment = os.environ | {"TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"} | more
        before = signal.signal(signal.SIGHUP, hangup)
        try:
            process = subprocess.Popen(command, stdout=to_out, stderr=to_err, text=True, env=environment)
        finally:
            signal.signal(signal.SIGHUP, before)
        with process:
            try:
                yield Demo(process, out, err, temporary)
            finally:
                process.kill()


def series(text: str, name: str) -> dict[str, float]:
    """Values of a metric by everything in its braces."""
    return {labels: float(value) for labels, value in re.findall(rf"^{name}\{{(.*)\}} (\S+)$", text, re.MULTILINE)}


def of(values: dict[str, float], label: str) -> float:
    matching = [value for labels, value in values.items() if label in labels]
    assert len(matching) == 1, f"{label}: {values}"
    return matching[0]


def mount_target_at(address: str, page: str) -> str:
    """The mount_target label of the mount target with an address."""
    infos = [labels for labels in series(page, "fss_mount_target_info") if f'address="{address}"' in labels]
    assert len(infos) == 1, f"{len(infos)} mount targets have the address {address} of a recorded client"
    label = re.search(r'mount_target="[^"]+"', infos[0])
    assert label
    return label[0]


@dataclass(frozen=True)
class Shown:
    """A whole demo: metrics when all is there, and what the end leaves."""

    page: str
    code: int
    errors: str
    left: list[Path]
    said: str  # on standard output


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The demo from its start to Ctrl-C."""
    with running(tmp_path_factory.mktemp("demo"), "--listen-address", "127.0.0.1:0") as demo:
        url = demo.printed(r"(http://127\.0\.0\.1:\d+/metrics)")
        page = wait_for(
            lambda: text if all(map((text := get(url)).__contains__, SHOWN)) else "",
            "clients, measured IOPS, addresses and other services on one page",
        )
        demo.printed(r"(First poll ended)")
        code = demo.stop(signal.SIGINT)
        return Shown(page, code, demo.err.read_text(), list(demo.temporary.iterdir()), demo.said())


def test_the_demo_ends_with_ctrl_c_and_leaves_nothing(shown: Shown) -> None:
    assert (shown.code, shown.errors, shown.left) == (0, "", [])


def test_the_demo_says_when_its_first_poll_has_ended_and_what_is_there_then(shown: Shown) -> None:
    lines = shown.said.partition("First poll ended")[2].splitlines()[4:]
    names = [re.sub(r'mount_target="([^"]+)".*', r"\1", line) for line in lines]
    assert names == [
        "fss_mount_target_iops{mt-home",
        "fss_mount_target_iops{mt-home-b",
        "fss_mount_target_iops_limit{mt-home",
        "fss_mount_target_iops_limit{mt-home-b",
    ]
    assert all('_id="ocid1...' in line for line in lines)


def test_measured_estimated_and_client_iops_of_one_mount_target_stand_side_by_side(shown: Shown) -> None:
    measured = series(shown.page, "fss_mount_target_iops")
    lower, estimated, upper = (
        series(shown.page, f"fss_mount_target_estimated_iops{bound}") for bound in ("_lower_bound", "", "_upper_bound")
    )
    assert 0.8 < of(measured, 'mount_target="mt-home"') / 50_000 < 0.96
    assert of(measured, 'mount_target="mt-idle"') == of(estimated, 'mount_target="mt-idle"') == 0.0
    for name in ("mt-home", "mt-home-b", "mt-scratch", "mt-media"):
        label = f'mount_target="{name}"'
        assert of(lower, label) <= of(estimated, label) <= of(upper, label)
        assert of(lower, label) <= of(measured, label) * 1.001
    for address in ("10.80.1.10", "10.80.1.11", "10.80.2.20", "10.80.3.30"):
        label = mount_target_at(address, shown.page)
        clients = of(series(shown.page, "fss_client_peak_estimated_iops"), f'address="{address}"')
        assert 0 < clients < of(measured, label), "clients cause no more than is measured"


def test_it_shows_other_services_with_load_and_ceilings(shown: Shown) -> None:
    read, written, limit = (
        series(shown.page, f"fss_service_{what}")
        for what in ("read_bytes_per_second", "write_bytes_per_second", "bytes_per_second_limit")
    )
    lustre = 'resource="render"'
    assert 0.7 < (of(read, lustre) + of(written, lustre)) / of(limit, lustre) < 1
    volume = 'resource="db-data"'
    assert of(series(shown.page, "fss_service_iops_limit"), volume) == 30_000
    assert "apsara-nas" in shown.page
    assert of(series(shown.page, "fss_client_bytes_per_second_limit"), 'address="10.90.0.5"') == 45 * 1024**2


def test_the_printed_query_is_a_series_that_the_rules_record() -> None:
    from fss_toolbox.cli.demo import UTILISATION

    rules = (Path(__file__).parents[3] / "rules/load.yml").read_text("utf-8")
    assert f"record: {UTILISATION}\n" in rules


def test_the_region_alone_answers_the_credentials_it_prints_and_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "--region-only", "--fault", "503:ListCompartments,times=1") as demo:
        url = demo.printed(r"(http://127\.0\.0\.1:\d+) ")
        tenancy = demo.printed(r"Tenancy +(\S+)")
        credentials = demo.printed(r"Credentials +(\S+)\n")
        demo.printed(r"(Ctrl-C)")
        assert Path(credentials).stat().st_mode & 0o077 == 0
        config = oci.config.from_file(credentials)
        assert config["tenancy"] == tenancy
        identity = oci.identity.IdentityClient(
            config, service_endpoint=url, retry_strategy=oci.retry.NoneRetryStrategy()
        )
        with pytest.raises(oci.exceptions.ServiceError, match="503"):
            identity.list_compartments(tenancy)
        assert {compartment.name for compartment in identity.list_compartments(tenancy).data} == {
            "network",
            "storage",
            "batch",
        }
        assert demo.stop(signal.SIGHUP) == 0
        assert demo.err.read_text() == ""
        assert list(demo.temporary.iterdir()) == []


def test_a_signal_while_a_large_tenancy_is_built_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "--region-only", "--mount-targets", "65000") as demo:
        wait_for(lambda: list(demo.temporary.glob("fss-exporter-demo-*")), "the folder of the demo")
        assert demo.stop(signal.SIGTERM) == 0
        assert list(demo.temporary.iterdir()) == []


def test_under_nohup_the_region_alone_outlives_its_terminal_and_prints_commands_that_run_without_a_path(
    tmp_path: Path,
) -> None:
    program = shutil.which("fss-exporter")
    assert program is not None
    with running(tmp_path, "--region-only", program=program, hangup=signal.SIG_IGN, PATH="/usr/bin:/bin") as demo:
        assert demo.printed(r"(?m)^    (\S+) serve ") == program
        demo.printed(r"(Ctrl-C)")
        wait_for(lambda: signal.SIGQUIT in signals(demo, "SigCgt"), "the demo waits for its signals")
        assert signal.SIGHUP in signals(demo, "SigIgn")
        assert demo.stop(signal.SIGTERM) == 0


def signals(demo: Demo, field: str) -> set[int]:
    """The signals of a mask in /proc/PID/status."""
    status = Path(f"/proc/{demo.process.pid}/status").read_text()
    mask = int(re.findall(rf"{field}:\s+(\w+)", status)[0], 16)
    return {number for number in signal.Signals if mask >> (number - 1) & 1}


def test_a_wrong_flag_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    wrong = (
        (["--fault", "418"], ["no kind '418'", "429"]),
        (["--fault", "429", "--fault", "slow,seconds=x"], ["seconds=x"]),
        (["--fault", "delete,resource=mt-nowhere"], ["--fault", "mt-nowhere"]),
        (["--charge", "homes"], ["--charge: no mount target with an export"]),
        (["--charge", "mt-idle", "--charge.counters", "/dev/null"], ["--charge.counters=/dev/null: ", "no lines `io`"]),
        (["--mount-targets", "0"], ["--mount-targets"]),
        (["--region-port", "99999"], ["--region-port"]),
        (["--web.listen-address", "nowhere"], ["--web.listen-address=nowhere"]),
    )
    answers = ask_each(*((["demo", *flags], {"TMPDIR": str(tmp_path)}) for flags, _ in wrong))
    for (flags, words), answer in zip(wrong, answers, strict=True):
        assert (answer.code, answer.out) == (2, ""), flags
        assert len(answer.err.splitlines()) == 1, answer.err
        assert all(word in answer.err for word in words), answer.err
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = ask_process("demo", "--region-only", "--region-port", port, TMPDIR=str(tmp_path))
    assert answer.code == 2
    assert f"--region-port={port}" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_the_help_names_every_kind_of_fault() -> None:
    from fss_toolbox.demo.region.faults import DEMO_KINDS

    shown = ask("demo", "--help").out
    for kind in (*DEMO_KINDS.wire, *DEMO_KINDS.data):
        assert re.search(rf"^ +{kind} +\S", shown, re.MULTILINE), kind
