"""`plan --replay` of a recorded week in a real Prometheus."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests import processes
from tests.json_schema import problems, schema_of
from tests.prompt import ask

from fss_toolbox.plan import prometheus_api

NOW = 1_790_000_040  # a whole minute
WEEK = 7 * 24 * 60
FULL = range(1000, 1030)  # minutes of the week at the ceiling of the reads of a standard mount target
BUSY = range(2000, 2060)  # minutes at 90 % of the IOPS
GAP = range(3000, 3100)  # minutes without a scrape


def figures(minute: int) -> tuple[float, float, float]:
    """IOPS, and bytes per second of reads and writes of a minute."""
    if minute in FULL:
        return 33_000.0, 1e9, 1e7
    return (45_000.0, 1e8, 1e7) if minute in BUSY else (5_000.0, 1e8, 1e7)


def history() -> Iterator[str]:
    own = 'mount_target="mt-1",mount_target_id="ocid1.mt.1"'
    place = 'network="vcn",address="10.0.0.1",shape="standard",availability_domain="AD-1"'
    yield f"# TYPE fss_mount_target_info gauge\nfss_mount_target_info{{{own},{place}}} 1 {NOW - 60}\n"
    for at, name in enumerate(("iops", "read_bytes_per_second", "write_bytes_per_second")):
        yield f"# TYPE fss_mount_target_{name} gauge\n"
        for minute in range(1, WEEK + 1):
            if minute not in GAP:
                moment = NOW - (WEEK - minute) * 60 - 5
                yield f"fss_mount_target_{name}{{{own}}} {figures(minute)[at]} {moment}\n"
    yield "# EOF\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[processes.Prometheus]:
    with processes.prometheus_of(history(), tmp_path_factory.mktemp("replay")) as running:
        yield running


@pytest.fixture(autouse=True)
def _at_the_end_of_the_week(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus_api, "time", SimpleNamespace(time=lambda: NOW))


def weeks(server: processes.Prometheus, *flags: object) -> dict[str, dict[str, Any]]:
    answer = ask("plan", "--prometheus", server.url, "--replay", *flags, "--output", "json")
    assert answer.code == 0, answer.err
    assert problems(answer.document, schema_of("plan"), schema_of("plan")) == []
    return {week["on"]: week for week in answer.document["replay"]["weeks"]}


def test_minutes_of_a_gap_are_counted_and_are_no_idle_minutes(server: processes.Prometheus) -> None:
    today = weeks(server)["today"]
    # A look of two minutes holds the last scrape one minute longer.
    assert today["missing_minutes"] == len(GAP) - 1
    assert today["minutes"] + today["missing_minutes"] == WEEK


def test_the_week_on_the_present_mount_target_on_two_and_on_a_larger_shape(server: processes.Prometheus) -> None:
    flags = ("--mount-targets", 2, "--what-if", "shape=hpmt-20", "--what-if", "mount-targets=3")
    found = weeks(server, *flags)
    assert list(found) == ["today", "2 of standard", "shape=hpmt-20", "mount-targets=3"]
    above = {on: (week["minutes_above_80_percent"], week["minutes_above_100_percent"]) for on, week in found.items()}
    assert above == {
        "today": (len(FULL) + len(BUSY), 0),
        "2 of standard": (0, 0),
        "shape=hpmt-20": (0, 0),
        "mount-targets=3": (0, 0),
    }
    assert found["shape=hpmt-20"]["not_judged"] == ["IOPS", "write bandwidth"]
    assert found["today"]["longest_wait_seconds"] == 0


def test_a_smaller_ceiling_has_the_wait_of_the_queue(server: processes.Prometheus, tmp_path: Any) -> None:
    """30 minutes at 1 GB/s on 0.8 GB/s leave 360 GB, which wait for 450 s. 0.7 GB/s of room then empty it in 515 s, 9 minutes."""
    settings = tmp_path / "fss.yml"
    settings.write_text("limits: {shapes: {standard: {read_bytes_per_second: 800000000}}}\n")
    today = weeks(server, "--config.file", settings)["today"]
    assert today["longest_wait_seconds"] == pytest.approx(450)
    rising, falling = sum(range(1, 31)) * 15.0, sum(450 - 52.5 * minute for minute in range(1, 9))
    assert today["mean_wait_seconds"] == pytest.approx((rising + falling) / today["minutes"])
    assert today["minutes_above_100_percent"] == len(FULL)


def test_the_table_says_model_gap_and_cut_load(server: processes.Prometheus) -> None:
    answer = ask("plan", "--prometheus", server.url, "--replay", "--mount-targets", 2)
    assert answer.code == 0, answer.err
    assert "wait: load above a ceiling queues" in answer.out
    assert "10.0.0.1 was at 98 % of a ceiling or more in 30 minutes. More was wanted" in answer.out
    assert "missing: minutes without a recorded load" in answer.out


def test_a_change_of_clients_is_refused(server: processes.Prometheus) -> None:
    answer = ask("plan", "--prometheus", server.url, "--replay", "--what-if", "nconnect=4")
    assert answer.code == 2
    assert "--what-if nconnect=4: --replay takes shape and mount-targets" in answer.err
