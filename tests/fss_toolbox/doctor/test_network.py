"""Checks of the way to the mount targets, and of directories."""

import pytest
from tests.fss_toolbox.doctor.clients import client, severities

from fss_exporter.instance_metadata import InstanceMetadata
from fss_exporter.model.limits import STANDARD, Limits
from fss_toolbox.doctor.client_checks import check_directories, check_network
from fss_toolbox.doctor.client_facts import ClientFacts, Connect, Directory
from fss_toolbox.doctor.findings import Finding, Severity

HOME = ("10.80.1.10", 2049)
SIX_MIB = {"net.ipv4.tcp_rmem": 6 * 1024 * 1024}


def findings_of(facts: ClientFacts, check: str, limits: Limits = STANDARD.limits) -> list[Finding]:
    return [finding for finding in check_network(facts, limits) if finding.check == check]


def test_a_mount_target_that_does_not_answer_is_a_problem() -> None:
    facts = client(connects={HOME: Connect(None, "no answer within 2 s")})
    (only,) = check_network(facts, STANDARD.limits)
    assert only.severity is Severity.PROBLEM
    assert only.subject == "10.80.1.10"
    assert "no TCP connection to port 2049: no answer within 2 s" in only.message


def test_another_port_is_named() -> None:
    (only,) = findings_of(client(connects={("10.80.1.10", 2051): Connect(None, "refused")}), "reachable")
    assert only.subject == "10.80.1.10 port 2051"


@pytest.mark.parametrize(("seconds", "severity"), [(0.0004, Severity.OK), (0.02, Severity.WARNING)])
def test_a_long_round_trip_is_far_away(seconds: float, severity: Severity) -> None:
    assert severities(findings_of(client(connects={HOME: Connect(seconds)}), "round-trip")) == [severity]


def test_a_window_too_small_for_the_distance_is_a_warning() -> None:
    (only,) = findings_of(client(connects={HOME: Connect(0.005)}, sysctls=SIX_MIB), "bandwidth-delay")
    assert only.severity is Severity.WARNING
    assert "1 connection with a window of 3.0 MiB each carry at most 629 MB/s" in only.message
    assert "a mount target 1,000" in only.message


def test_the_window_of_another_service_is_not_held_against_a_mount_target() -> None:
    apsara = ("10.80.1.10:/export/a", "0a1b.cn-hangzhou.nas.aliyuncs.com:/share")
    facts = client(apsara, connects={HOME: Connect(0.005)}, sysctls=SIX_MIB)
    assert findings_of(facts, "bandwidth-delay") == []


def test_more_connections_widen_the_window() -> None:
    xprt = "\txprt:\ttcp"
    text = "xprt:\ttcp 956 1 2"
    four = (text, f"{text} 0 0 0 0 0 0 0 0 0 0\n" + f"{xprt} 1 1 2 0 0 9 9 0 0 0 2 0 0\n" * 2 + f"\t{text}")
    (only,) = findings_of(client(four, connects={HOME: Connect(0.005)}, sysctls=SIX_MIB), "bandwidth-delay")
    assert only.severity is Severity.OK
    assert only.message.startswith("4 connections")


def test_without_a_ceiling_or_a_buffer_nothing_is_said_about_the_window() -> None:
    assert findings_of(client(connects={HOME: Connect(0.005)}, sysctls=SIX_MIB), "bandwidth-delay", Limits()) == []
    assert findings_of(client(connects={HOME: Connect(0.005)}), "bandwidth-delay") == []


@pytest.mark.parametrize(
    ("there", "severity"), [("qIZq:EU-FRANKFURT-1-AD-1", Severity.OK), ("qIZq:EU-FRANKFURT-1-AD-2", Severity.WARNING)]
)
def test_client_and_mount_target_belong_into_one_availability_domain(there: str, severity: Severity) -> None:
    here = InstanceMetadata(availability_domain="Uocm:eu-frankfurt-1-AD-1")
    facts = client(instance=here, availability_domains={"10.80.1.10": there})
    assert severities(findings_of(facts, "availability-domain")) == [severity]


def test_where_a_domain_is_not_known_nothing_is_said_about_it() -> None:
    assert findings_of(client(availability_domains={"10.80.1.10": "AD-1"}), "availability-domain") == []
    assert findings_of(client(instance=InstanceMetadata("AD-1")), "availability-domain") == []
    assert (
        findings_of(
            client(instance=InstanceMetadata(), availability_domains={"10.80.1.10": "AD-1"}), "availability-domain"
        )
        == []
    )


@pytest.mark.parametrize(
    ("directory", "severity", "words"),
    [
        (Directory("/a", 9_999), Severity.OK, "9,999 entries"),
        (Directory("/a", 10_000), Severity.WARNING, "10,000 entries or more"),
        (Directory("/a", 10_001), Severity.WARNING, "10,000 entries or more"),
        (Directory("/a", 0), Severity.OK, "0 entries"),
        (Directory("/a", None, "no answer within 2 s"), Severity.WARNING, "cannot be counted: no answer within 2 s"),
    ],
)
def test_large_directories_are_slow(directory: Directory, severity: Severity, words: str) -> None:
    (only,) = check_directories(client(directories=(directory,)))
    assert only.severity is severity
    assert words in only.message


def test_nordirplus_is_advice_of_the_document_that_gives_it() -> None:
    (only,) = check_directories(client(directories=(Directory("/a", 10_001),)))
    assert "nordirplus" in only.fix
    assert "nordirplus: Apsara File Storage NAS Performance" in only.source


@pytest.mark.parametrize(
    ("seconds", "where", "fix"),
    [
        (0.005, "another availability domain", "in the same availability domain"),
        (0.080, "another region", "do not mount across regions: run the program on an instance near the data"),
    ],
)
def test_a_long_round_trip_says_where_the_mount_target_is_and_what_to_do(seconds: float, where: str, fix: str) -> None:
    (only,) = findings_of(client(connects={HOME: Connect(seconds)}), "round-trip")
    assert where in only.message
    assert fix in only.fix
    assert "partar, parcp, parrm" in only.fix


@pytest.mark.parametrize(
    ("own", "severity", "words"),
    [
        (
            125e6,
            Severity.ADVICE,
            "carries 1 Gbit/s, which is 125 MB/s in each direction. A mount target reads 1,000 MB/s",
        ),
        (1.25e9, Severity.OK, "carries 10 Gbit/s"),
    ],
)
def test_the_network_of_the_instance_is_held_against_a_mount_target(own: float, severity: Severity, words: str) -> None:
    (only,) = findings_of(client(instance=InstanceMetadata(network_bytes_per_second=own)), "client-network")
    assert only.severity is severity
    assert words in only.message


def test_without_metadata_nothing_is_said_about_the_network_of_the_instance() -> None:
    assert findings_of(client(), "client-network") == []
    assert findings_of(client(instance=InstanceMetadata("AD-1")), "client-network") == []
