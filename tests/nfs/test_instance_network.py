"""The bandwidth of this instance's network: no instance, odd answers, then one that says it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from fss_exporter.cli.nfs_agent import NfsAgent, metadata_url
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.cloud_instance import METADATA_URL, is_oci_instance
from fss_exporter.instance_metadata import own_bandwidth
from fss_exporter.nfs.instance_network import InstanceNetwork

NAME = "fss_client_network_bytes_per_second_limit"


@contextmanager
def metadata(body: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.headers["Authorization"] == "Bearer Oracle" else 401)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def asked(url: str) -> InstanceNetwork:
    network = InstanceNetwork(url)
    network.start()
    end_of_request()
    return network


def end_of_request() -> None:
    for thread in threading.enumerate():
        if thread.name == "instance-metadata":
            thread.join(120)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"shapeConfig": {}}', b'{"shapeConfig": {"networkingBandwidthInGbps": 0}}']
)
def test_an_answer_without_a_bandwidth_makes_no_series(body: bytes) -> None:
    with metadata(body) as url:
        assert list(asked(url).families()) == []


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1/"])
def test_where_nothing_answers_there_is_no_series(url: str) -> None:
    assert list(asked(url).families()) == []


def test_the_agent_exports_the_bandwidth_of_its_instance(tmp_path: Path) -> None:
    with metadata(b'{"shapeConfig": {"networkingBandwidthInGbps": 4.0}}') as url:
        agent = NfsAgent(NfsFlags(procfs=tmp_path, metadata_url=url))
        agent.network.start()
        end_of_request()
        (found,) = [one for one in agent.collector.collect() if one.name == NAME]
    assert [(sample.labels, sample.value) for sample in found.samples] == [({}, 500e6)]


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
    assert metadata_url(NfsFlags(sysfs=tmp_path, metadata_url=given)) == url


def test_a_stated_bandwidth_needs_no_metadata(tmp_path: Path) -> None:
    flags = NfsFlags(procfs=tmp_path, network_bandwidth=1.25e9, metadata_url="http://127.0.0.1:1/")
    assert metadata_url(flags) == ""
    agent = NfsAgent(flags)
    (found,) = [one for one in agent.collector.collect() if one.name == NAME]
    assert found.samples[0].value == 1.25e9


def test_a_command_learns_the_bandwidth_on_an_instance_of_oci_only(tmp_path: Path) -> None:
    with metadata(b'{"shapeConfig": {"networkingBandwidthInGbps": 4.0}}') as url:
        assert own_bandwidth(tmp_path, url) is None
        tag = tmp_path / "class/dmi/id/chassis_asset_tag"
        tag.parent.mkdir(parents=True)
        tag.write_text("OracleCloud.com\n")
        assert own_bandwidth(tmp_path, url) == 0.5e9
