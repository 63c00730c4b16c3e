"""The whole demo from its start to Ctrl-C: what stands on its page, and what its end leaves."""

import re
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.fss_toolbox.demo.demo_process import running
from tests.processes import get, wait_for

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
