"""`plan --place` of named clients, and of mount targets whose load is not known, on a real Prometheus."""

from collections.abc import Iterator
from itertools import chain
from types import SimpleNamespace

import pytest
from tests import processes
from tests.json_schema import problems, schema_of
from tests.prompt import ask

from fss_toolbox.plan import prometheus_api

NOW = 1_790_000_000
MINUTES = range(NOW - 600, NOW + 1, 60)


def series(name: str, labels: str, value: float, *, per_second: bool = False) -> Iterator[str]:
    for at in MINUTES:
        yield f"{name}{{{labels}}} {value * (at - MINUTES[0]) if per_second else value} {at}\n"


def mount_target(number: int, iops: float) -> Iterator[str]:
    own = f'mount_target="mt-{number}",mount_target_id="ocid1.mt.{number}"'
    place = f'network="vcn",address="10.0.0.{number}"'
    yield from series("fss_mount_target_info", f'{own},{place},shape="standard",availability_domain="AD-1"', 1)
    file_system = f'file_system="data",file_system_id="ocid1.fs",{own}'
    yield from series("fss_export_info", f'{file_system},{place},export="/data"', 1)
    if iops >= 0:
        figures = {"iops": iops, "read_bytes_per_second": 0.0, "write_bytes_per_second": 0.0}
        for name, value in figures.items():
            yield from series(f"fss_mount_target_{name}", own, value)
        operations = f'{file_system},operation="GETATTR"'
        yield from series("fss_file_system_metadata_operations_per_second", operations, iops)


def client(name: str, iops: float, mount_point: str) -> Iterator[str]:
    mount = f'network="vcn",instance="{name}",address="10.0.0.1",server="s",export="/data",service="oci-fss"'
    options = f'mount_point="{mount_point}",nfs_version="3",nconnect="1",hard="true",sec="sys",encrypted="false"'
    yield from series("fss_client_mount_info", f"{mount},{options}", 1)
    cost = f'{mount},class="metadata_read"'
    operation = f'{cost},operation="GETATTR"'
    yield from series("fss_client_estimated_io_operations_total", cost, iops, per_second=True)
    yield from series("fss_client_operations_total", operation, iops, per_second=True)
    yield from series("fss_client_read_bytes_total", mount, 0.0)


def history() -> Iterator[str]:
    """A full mount target with two clients, one with 8,000 IOPS, and one of which OCI published nothing."""
    samples = chain(
        mount_target(1, 45_000),
        mount_target(2, -1),
        client("a", 8_000, "/mnt/x y"),
        client("b", 37_000, "/mnt/b"),
    )
    yield from sorted(samples, key=lambda line: line.partition("{")[0])  # the samples of a family stand together
    yield "# EOF\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[processes.Prometheus]:
    with processes.prometheus_of(history(), tmp_path_factory.mktemp("place")) as running:
        yield running


@pytest.fixture(autouse=True)
def _at_the_end_of_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus_api, "time", SimpleNamespace(time=lambda: NOW))


def test_one_client_moves_with_its_line_and_no_load_goes_where_the_load_is_not_known(
    server: processes.Prometheus,
) -> None:
    answer = ask("plan", "--prometheus", server.url, "--place", "--new-address", "10.0.0.7", "--output", "json")
    assert answer.code == 0, answer.err
    assert "left out, because Prometheus has neither bandwidth nor clients of the last week: mt-2" in answer.err
    assert problems(answer.document, schema_of("plan"), schema_of("plan")) == []
    placement = answer.document["placement"]
    assert [(move["client"], move["share"], move["to"]) for move in placement["moves"]] == [("b", 1, "new-1")]
    assert {each["name"]: each["ratio_then"] for each in placement["mount_targets"]} == pytest.approx(
        {"mt-1": 0.16, "new-1": 0.74}, abs=0.001
    )
    assert placement["fstab"] == {"b": ["10.0.0.7:/data /mnt/b nfs hard,vers=3,_netdev 0 0"]}
    assert 'ip_address          = "10.0.0.7"' in placement["terraform"]


def test_the_tables_name_client_mount_targets_and_lines(server: processes.Prometheus) -> None:
    answer = ask("plan", "--prometheus", server.url, "--place")
    assert answer.code == 0, answer.err
    assert "/etc/fstab of b\nADDRESS-OF-new-1:/data /mnt/b nfs hard,vers=3,_netdev 0 0" in answer.out
    assert "new mount targets for loads counted like this: needs at least 1, found 1\n" in answer.out


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--mount-targets", 1, "--new-address", "10.0.0.1"), "--new-address: 10.0.0.1 is in use"),
        (("--new-address", "10.0.0.7", "--new-address", "10.0.0.7"), "an address is in use"),
    ],
)
def test_an_address_that_is_in_use_is_refused(
    server: processes.Prometheus, flags: tuple[object, ...], why: str
) -> None:
    answer = ask("plan", "--prometheus", server.url, "--place", *flags)
    assert answer.code == 2
    assert why in answer.err


def test_a_bound_that_allows_no_new_mount_target_is_named(server: processes.Prometheus) -> None:
    answer = ask("plan", "--prometheus", server.url, "--place", "--mount-targets", 1)
    assert answer.code == 0
    assert "mt-1 stays above: found no room for its clients in its network and availability domain" in answer.out
    assert "--mount-targets allows 1" in answer.out
