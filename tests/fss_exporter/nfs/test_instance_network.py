"""The bandwidth of this instance's network: no instance, odd answers, then one that says it."""

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.exposition_text import collected
from tests.fss_exporter.nfs.records import mountinfo, mountstats
from tests.local_server import instance_metadata
from tests.processes import wait_for

from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.instance_metadata import METADATA_URL, is_oci_instance, own_bandwidth
from fss_exporter.nfs.instance_network import InstanceNetwork

NAME = "fss_client_network_bytes_per_second_limit"


def asked(url: str) -> InstanceNetwork:
    network = InstanceNetwork(url)
    network.start()
    wait_for(lambda: network.name != "", "the first try to end")
    network.stop()
    end_of_request()
    return network


def end_of_request() -> None:
    """Wait for the end of every thread that asks."""
    for thread in threading.enumerate():
        if thread.name == "fss-instance_metadata":
            thread.join(120)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"shapeConfig": {}}', b'{"shapeConfig": {"networkingBandwidthInGbps": 0}}']
)
def test_an_answer_without_a_bandwidth_makes_no_series(body: bytes) -> None:
    with instance_metadata(body) as url:
        assert list(asked(url).families()) == []


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1/"])
def test_where_nothing_answers_there_is_no_series(url: str) -> None:
    assert list(asked(url).families()) == []


def test_the_agent_exports_the_bandwidth_of_its_instance(tmp_path: Path) -> None:
    with instance_metadata(b'{"shapeConfig": {"networkingBandwidthInGbps": 4.0}}') as url:
        agent = NfsAgent(NfsFlags(procfs=tmp_path, metadata_url=url))
        agent.network.start()
        end_of_request()
        (shown,) = [family for family in collected(agent.collector) if family.name == NAME]
    assert [(sample.labels, sample.value) for sample in shown.samples] == [({}, 500e6)]


@pytest.mark.parametrize(
    ("tag", "given", "url"),
    [
        ("OracleCloud.com\n", None, METADATA_URL),
        ("OracleCloud.com\n", "", ""),
        ("Dell Inc.\n", None, ""),
        (None, None, ""),
        (None, "http://127.0.0.1:9/", "http://127.0.0.1:9/"),
    ],
)
def test_metadata_are_asked_for_on_an_instance_of_oci_only(
    tmp_path: Path, tag: str | None, given: str | None, url: str
) -> None:
    if tag is not None:
        path = tmp_path / "class/dmi/id/chassis_asset_tag"
        path.parent.mkdir(parents=True)
        path.write_text(tag)
    assert is_oci_instance(tmp_path) is (tag is not None and tag.startswith("Oracle"))
    assert NfsFlags(metadata_url=given).metadata_place(tmp_path) == url


def test_a_stated_name_and_bandwidth_need_no_metadata(tmp_path: Path) -> None:
    stated = NfsFlags(procfs=tmp_path, network="office", network_bandwidth=1.25e9, metadata_url="http://127.0.0.1:1/")
    agent, before = NfsAgent(stated), set(threading.enumerate())
    agent.network.start()
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "fss-instance_metadata"]
    assert agent.network.name == "office"
    (shown,) = [family for family in collected(agent.collector) if family.name == NAME]
    assert shown.samples[0].value == 1.25e9


def networks(agent: NfsAgent) -> set[str]:
    """Networks of the series with an address. Empty if no mount has series."""
    samples = [sample for family in collected(agent.collector) for sample in family.samples]
    return {sample.labels["network"] for sample in samples if "network" in sample.labels}


def agent_of(tmp_path: Path, **flags: Any) -> NfsAgent:
    process = tmp_path / "1"
    process.mkdir()
    (process / "mountinfo").write_text(mountinfo())
    (process / "mountstats").write_text(mountstats({"READ": 5}))
    agent = NfsAgent(NfsFlags(procfs=tmp_path, **flags))
    agent.ticker.tick()
    return agent


def test_the_region_of_the_instance_is_the_network_of_every_mount(tmp_path: Path) -> None:
    with instance_metadata(b'{"canonicalRegionName": "eu-frankfurt-1", "region": "fra"}') as url:
        agent = agent_of(tmp_path, metadata_url=url)
        assert networks(agent) == set(), "no series begins under a name that changes a moment later"
        agent.network.start()
        end_of_request()
    assert networks(agent) == {"eu-frankfurt-1"}


def test_the_operator_names_the_network_and_metadata_give_the_bandwidth(tmp_path: Path) -> None:
    with instance_metadata(b'{"canonicalRegionName": "eu-frankfurt-1"}') as url:
        agent = agent_of(tmp_path, metadata_url=url, network="office")
        assert networks(agent) == {"office"}
        agent.network.start()
        end_of_request()
    assert networks(agent) == {"office"}


def test_without_metadata_and_name_the_network_is_unknown(tmp_path: Path) -> None:
    assert networks(agent_of(tmp_path, metadata_url="")) == {"unknown"}


def test_metadata_that_do_not_answer_are_asked_again_and_the_mounts_have_series_meanwhile(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, metadata_url="http://127.0.0.1:1/")
    agent.network.start()
    wait_for(lambda: networks(agent) == {"unknown"}, "the first try to end")
    agent.network.stop()


def test_an_unexpected_error_costs_one_try_and_the_mounts_have_series_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("fss_exporter.nfs.instance_network.read_instance_metadata", fail)
    agent = agent_of(tmp_path, metadata_url="http://127.0.0.1:1/")
    agent.network.start()
    wait_for(lambda: networks(agent) == {"unknown"}, "the first try to end")
    wait_for(lambda: "instance_metadata: unexpected error" in caplog.text, "the line of the log")
    agent.network.stop()


def test_a_command_learns_the_bandwidth_on_an_instance_of_oci_only(tmp_path: Path) -> None:
    with instance_metadata(b'{"shapeConfig": {"networkingBandwidthInGbps": 4.0}}') as url:
        assert own_bandwidth(tmp_path, url) is None
        tag = tmp_path / "class/dmi/id/chassis_asset_tag"
        tag.parent.mkdir(parents=True)
        tag.write_text("OracleCloud.com\n")
        assert own_bandwidth(tmp_path, url) == 0.5e9
