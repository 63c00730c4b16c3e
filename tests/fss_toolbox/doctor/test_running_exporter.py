"""What `doctor` says of the exporter that runs on this host, over HTTP."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.local_server import Quiet, serving
from tests.prompt import ask

from fss_toolbox.doctor import running_exporter
from fss_toolbox.doctor.findings import Severity, finding_of
from fss_toolbox.doctor.running_exporter import check_running

FINE = f"""
fss_collector_success{{collector="nfs"}} 1
fss_collector_success{{collector="oci"}} 1
fss_collector_errors_total{{collector="nfs"}} 0
fss_collector_errors_total{{collector="oci"}} 3
fss_collector_last_success_timestamp_seconds{{collector="nfs"}} {time.time() - 5}
fss_collector_last_success_timestamp_seconds{{collector="oci"}} {time.time() - 50}
"""


class Exporter:
    """Answers with texts of the test's choice."""

    def __init__(self) -> None:
        self.address, self.metrics, self.health = "", (200, FINE), (200, "ok")


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    exporter = Exporter()

    class Handler(Quiet):
        def get(self) -> None:
            status, text = exporter.metrics if self.path == "/metrics" else exporter.health
            self.answer(text, status)

    with serving(Handler) as exporter.address:
        yield exporter


def findings(exporter: Exporter) -> list[tuple[Severity, str, str]]:
    url = f"http://{exporter.address}/metrics"
    return [(finding.severity, finding.subject, finding.message) for finding in check_running(url)]


@pytest.mark.parametrize(
    ("network", "severity", "words"),
    [("eu-frankfurt-1", Severity.OK, "network eu-frankfurt-1"), ("unknown", Severity.WARNING, "is not known")],
)
def test_the_network_of_the_mounts_is_shown(exporter: Exporter, network: str, severity: Severity, words: str) -> None:
    requests = f'fss_client_address_requests_total{{network="{network}",address="10.0.0.5"}} 7\n'
    exporter.metrics = (200, FINE + requests)
    *_, last = findings(exporter)
    assert (last[0], words in last[2]) == (severity, True)


def test_what_to_read_is_on_the_exporter_that_was_asked(exporter: Exporter) -> None:
    of = 'network="r",address="10.0.0.2"'
    why = f'{of},state="hanging",subject="requests without a reply",detail=""'
    states = f"fss_client_address_state{{{of}}} 5\nfss_client_address_state_evidence_ratio{{{why}}} 11.4\n"
    exporter.metrics = (200, FINE + states)
    fixes = [finding.fix for finding in check_running(f"http://{exporter.address}/metrics")]
    assert f"read http://{exporter.address}/runbook#fssmounttargetdown" in fixes


def test_the_calls_that_failed_are_named_because_a_failed_round_is_no_unexpected_error(exporter: Exporter) -> None:
    of = 'tenancy="t",region="eu-frankfurt-1"'
    calls = (
        f'fss_oci_failed_calls{{{of},operation="SummarizeMetricsData",reason="500"}} 1\n'
        f'fss_oci_failed_calls{{{of},operation="ListExports",reason="404"}} 4\n'
    )
    exporter.metrics = (200, FINE.replace('success{collector="oci"} 1', 'success{collector="oci"} 0') + calls)
    said = [
        message for severity, subject, message in findings(exporter) if (severity, subject) == (Severity.WARNING, "oci")
    ]
    assert said == [
        "OCI answers 404 in eu-frankfurt-1: 4 listings failed (ListExports)",
        "OCI answers 500 in eu-frankfurt-1: 1 metric query failed (SummarizeMetricsData)",
    ]


def test_each_loop_is_shown_with_its_last_success_and_its_errors(exporter: Exporter) -> None:
    nfs, oci = findings(exporter)
    assert nfs[:2] == (Severity.OK, "nfs")
    assert oci[:2] == (Severity.OK, "oci")
    assert oci[2].endswith("s ago, 3 unexpected errors since its start")


SEEN = """
fss_coverage_expected{region="",part="mounts"} 10
fss_coverage_seen{region="",part="mounts"} %d
fss_coverage_expected{region="eu-frankfurt-1",part="permissions"} 9
fss_coverage_seen{region="eu-frankfurt-1",part="permissions"} %d
"""


def test_an_exporter_that_sees_less_than_it_should_is_named_with_the_part(exporter: Exporter) -> None:
    missing = 'fss_oci_permission_missing{region="eu-frankfurt-1",permission="inspect limits"} 1'
    exporter.metrics = (200, f"{FINE}{SEEN % (1, 8)}{missing}\n")
    _, _, *coverage = findings(exporter)
    assert coverage == [
        (Severity.WARNING, "", "sees 1 of 10 mounts"),
        (Severity.WARNING, "eu-frankfurt-1", "sees 8 of 9 permissions"),
        (Severity.ADVICE, "eu-frankfurt-1", "OCI refuses inspect limits"),
    ]


def test_a_region_is_not_missed_while_the_first_poll_runs(exporter: Exporter) -> None:
    region = '{region="eu-frankfurt-1",part="regions"}'
    exporter.metrics = (
        200,
        f'fss_collector_starting{{collector="oci"}} 1\nfss_coverage_expected{region} 1\nfss_coverage_seen{region} 0\n',
    )
    (starting,) = findings(exporter)
    assert starting[2].startswith("starting")


def test_an_agent_that_reads_its_own_mounts_is_a_problem(exporter: Exporter) -> None:
    part = '{region="",part="mount_namespace"}'
    exporter.metrics = (200, FINE + f"fss_coverage_expected{part} 1\nfss_coverage_seen{part} 0\n")
    _, _, coverage = findings(exporter)
    assert coverage == (Severity.PROBLEM, "", "reads its own mounts and not those of the host")


def test_an_exporter_that_sees_everything_says_so(exporter: Exporter) -> None:
    exporter.metrics = (200, FINE + SEEN % (10, 9))
    _, _, coverage = findings(exporter)
    assert coverage == (Severity.OK, "", "sees all of its mounts, permissions")


def test_a_poller_that_stands_by_is_fine_and_says_where_the_figures_are(exporter: Exporter) -> None:
    words = "this poller stands by, because another poller leads. The leader has the figures of OCI"
    for leader in (0, 1):
        exporter.metrics = (200, f"{FINE}fss_oci_leader {leader}\n")
        assert ((Severity.OK, "oci", words) in findings(exporter)) is (leader == 0)


def test_publishing_that_is_off_is_called_off_and_no_success(exporter: Exporter) -> None:
    exporter.metrics = (200, FINE + 'fss_collector_errors_total{collector="oci_publish/acme"} 0\n')
    words = "off: oci.publish is not set, so nothing is posted to OCI Monitoring"
    assert (Severity.OK, "oci_publish/acme", words) in findings(exporter)


def test_a_loop_whose_last_round_failed_is_a_problem(exporter: Exporter) -> None:
    exporter.metrics = (200, FINE.replace('success{collector="oci"} 1', 'success{collector="oci"} 0'))
    _, oci = findings(exporter)
    assert oci[0] is Severity.PROBLEM
    assert oci[2].startswith("its last round failed: last success")


def test_a_stalled_loop_is_a_problem_with_its_name(exporter: Exporter) -> None:
    exporter.health = (503, "stalled: nfs")
    assert findings(exporter)[-1][0] is Severity.PROBLEM
    assert "stalled: nfs" in findings(exporter)[-1][2]


@pytest.mark.parametrize(
    ("status", "text", "severity", "words"),
    [
        (401, "", Severity.WARNING, "HTTP 401"),
        (500, "\x1b[2J", Severity.WARNING, "HTTP 500"),
        (200, "<html>", Severity.WARNING, "not in the Prometheus format"),
        (200, "up 1\n", Severity.ADVICE, "no background loop is reported"),
    ],
)
def test_what_is_no_exporter_of_ours_is_said(
    exporter: Exporter, status: int, text: str, severity: Severity, words: str
) -> None:
    exporter.metrics = (status, text)
    first = findings(exporter)[0]
    assert first[0] is severity
    assert words in first[2]


def test_a_port_without_an_answer_is_named_and_is_neither_fine_nor_bad() -> None:
    """An exporter can listen at another port, or there is none."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/metrics"
        (only,) = check_running(url)
    assert (only.severity, only.subject) == (Severity.ADVICE, url)
    assert only.message == "nothing answers, so no exporter is checked"


def test_an_exporter_that_was_named_and_does_not_run_is_a_warning() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/metrics"
        answer = ask("doctor", "--no-client", "--no-account", "--url", url)
    assert answer.code == 1
    assert f"{url}: no answer: Connection refused" in " ".join(answer.out.split())


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), ConnectionResetError(104, "reset")])
def test_a_reset_while_connecting_is_the_same_as_a_refusal(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> socket.socket:
        raise error

    monkeypatch.setattr(socket, "create_connection", connect)
    (only,) = check_running("http://127.0.0.1:9/metrics")
    assert (only.severity, only.message) == (Severity.ADVICE, "nothing answers, so no exporter is checked")


def test_a_server_that_accepts_and_hangs_up_is_a_warning() -> None:
    """An exporter with TLS does so when it is asked without."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            accepted, _ = server.accept()
            accepted.recv(4096)
            accepted.close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        (only,) = check_running(f"http://127.0.0.1:{server.getsockname()[1]}/metrics")
        thread.join()
    assert only.severity is Severity.WARNING


def test_exact_mode_that_counts_nothing_is_advice_with_the_failed_checks(exporter: Exporter) -> None:
    tables = (
        'fss_nfs_exact_active 1\nfss_nfs_exact_checks_failed_total{check="dropped"} 0\n'
        "fss_nfs_latency_active 0\n"
        'fss_nfs_latency_checks_failed_total{check="refused"} 4\n'
        'fss_nfs_latency_checks_failed_total{check="dropped"} 0\n'
    )
    exporter.metrics = (200, FINE + tables)
    (advice,) = [finding for finding in findings(exporter) if finding[0] is Severity.ADVICE]
    assert advice == (Severity.ADVICE, "durations in exact mode", "the kernel counts nothing: refused 4")


def test_exact_mode_that_left_out_intervals_names_the_checks(exporter: Exporter) -> None:
    tables = 'fss_nfs_exact_active 1\nfss_nfs_exact_checks_failed_total{check="dropped"} 2\nfss_nfs_latency_active 1\n'
    exporter.metrics = (200, FINE + tables)
    (advice,) = [finding for finding in findings(exporter) if finding[0] is Severity.ADVICE]
    assert advice[1:] == ("sizes in exact mode", "intervals or tables without counts since the start: dropped 2")


def test_a_large_page_of_another_exporter_is_not_parsed(exporter: Exporter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser takes six times the size of a page."""
    monkeypatch.setattr(running_exporter, "Samples", None)
    exporter.metrics = (200, "up 1\n" * (1 << 18))
    (found,) = check_running(f"http://{exporter.address}/metrics")

    assert found == finding_of("exporter.foreign", f"http://{exporter.address}/metrics")


def ceilings(name: str, observed: float, stated: float, plateaus: int = 3) -> str:
    """The lines of one mount target on the page of a poller. Without plateaus a line has the reason."""
    labels = f'mount_target_id="ocid1.{name}",mount_target="{name}"'
    told = f'{labels},resource="read_bandwidth"'
    reason = "" if plateaus else "the load moved"
    lines = [
        f"fss_mount_target_read_bytes_per_second_limit{{{labels}}} {stated}",
        f'fss_mount_target_observed_limit_plateaus{{{told},reason="{reason}"}} {plateaus}',
    ]
    if plateaus:
        lines += [
            f"fss_mount_target_observed_read_bytes_per_second_limit{{{labels}}} {observed}",
            f"fss_mount_target_observed_limit_duration_seconds{{{told}}} 3720",
            f"fss_mount_target_observed_limit_timestamp_seconds{{{told}}} 1795867200",
        ]
    return "".join(f"{line}\n" for line in lines)


def test_an_observed_ceiling_stands_beside_the_one_in_force(exporter: Exporter) -> None:
    exporter.metrics = (200, FINE + ceilings("mt-a", 7.5e8, 1e9) + ceilings("mt-b", 9.7e8, 1e9))
    *_, differs, agrees = findings(exporter)
    words = "observed ceiling of read bandwidth: {} MB/s in 3 plateaus of 62 minutes, the last one 2026-11-28. The limit in force is 1,000.00 MB/s"
    assert differs == (Severity.ADVICE, "mt-a", words.format("750.00"))
    assert agrees == (Severity.OK, "mt-b", words.format("970.00"))


@pytest.mark.parametrize(
    ("observed", "or_take"),
    [
        ("", ""),
        (
            "fss_mount_target_observed_iops_limit{{{}}} 61000\n",
            ", or take the observed 61,000 IOPS with limits: observed",
        ),
    ],
    ids=["none observed", "observed"],
)
def test_a_mount_target_without_a_known_iops_ceiling_is_named_with_where_to_read_it(
    exporter: Exporter, observed: str, or_take: str
) -> None:
    labels = 'mount_target_id="ocid1.{0}",mount_target="{0}"'
    known, unknown = labels.format("mt-home"), labels.format("mt-media")
    standard = f'fss_mount_target_info{{{known},shape="standard"}} 1\nfss_mount_target_iops_limit{{{known}}} 50000\n'
    fast = f'fss_mount_target_info{{{unknown},shape="hpmt-20"}} 1\n{observed.format(unknown)}'
    exporter.metrics = (200, FINE + standard + fast)
    (found,) = (found for found in check_running(f"http://{exporter.address}/metrics") if found.check == "ceiling")
    assert (found.severity, found.subject) == (Severity.ADVICE, "mt-media")
    assert found.message == "no IOPS ceiling known, so the 80 % alert does not watch it"
    assert found.fix == f"read it in Oracle's paper and set limits.shapes.hpmt-20.iops{or_take}"


def test_a_stated_ceiling_that_stays_in_force_is_named_with_the_reason(exporter: Exporter) -> None:
    exporter.metrics = (200, FINE + ceilings("mt-a", 0, 1e9, plateaus=0) + ceilings("mt-b", 0, 1e9, plateaus=0))
    *_, (severity, _, message) = findings(exporter)
    assert severity is Severity.OK
    assert (
        message
        == "limits: observed keeps the stated ceilings of mt-a, mt-b where there is no observed one: the load moved"
    )


def test_the_page_of_a_large_fleet_is_checked_in_a_fraction_of_the_time_to_parse_it(exporter: Exporter) -> None:
    """Lines about mount targets and file systems are nearly the whole page, and the checks need none."""
    line = 'fss_mount_target_utilisation_ratio{mount_target_id="ocid1.mounttarget.oc1.%d",resource="iops"} 0.5\n'
    page = FINE + "".join(line % number for number in range(50_000))
    began = time.process_time()
    sum(1 for _ in text_string_to_metric_families(page))
    whole = time.process_time() - began
    exporter.metrics = (200, page)
    began = time.process_time()
    assert [subject for _, subject, _ in findings(exporter)] == ["nfs", "oci"]
    assert time.process_time() - began < whole / 2


@pytest.mark.parametrize(
    ("sample", "label"),
    [
        ('fss_mount_target_info{region="r",mount_target_id="a",mount_target="b"} 1', "shape"),
        ("fss_oci_poll_left_out_metrics 3", "region"),
        ('fss_client_address_state_evidence_ratio{address="10.0.0.1",network="r"} 4', "subject"),
    ],
)
def test_a_page_without_a_label_is_not_that_of_an_exporter_of_this_version(
    exporter: Exporter, sample: str, label: str
) -> None:
    exporter.metrics = (200, f"{FINE}{sample}\n")
    _, _, (severity, _, message) = findings(exporter)
    assert severity is Severity.WARNING
    assert message.startswith(f"not the metrics of an exporter of this version: '{label}'")


def test_a_page_that_is_cut_off_in_a_figure_is_no_answer(exporter: Exporter) -> None:
    exporter.metrics = (200, FINE + 'fss_collector_success{collector="cut"} 0')
    ((severity, _, message),) = findings(exporter)
    assert severity is Severity.WARNING
    assert message == "the answer is cut off in the last line"
