"""Alerts about exporters that no longer answer last as long as their silence, because "resolved" would be read as "it is back"."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rules.pack import RULES, parsed, promtool

SEEN = 2  # hours until the only exporter goes
SILENT = 72  # hours


def with_alerts(folder: Path, *names: str) -> str:
    """Write the rules about monitoring with these alerts and no other, because promtool judges each in each minute. The path."""
    document = parsed(RULES / "monitoring.yml")
    groups = [
        {**group, "rules": [rule for rule in group["rules"] if rule.get("alert") in (None, *names)]}
        for group in document["groups"]
    ]
    file = folder / "monitoring.yml"
    file.write_text(yaml.safe_dump({"groups": groups}))
    return str(file)


def test_an_exporter_that_is_away_for_three_days_stays_an_alert(tmp_path: Path) -> None:
    steps = [12 * SEEN, 12 * SILENT]
    exporter = 'job="fss",instance="host-0"'
    seen_alone = "1x{} _x{}".format(*steps)
    test = {
        "interval": "5m",
        "input_series": [
            {"series": f"up{{{exporter}}}", "values": "1x{} 0x{}".format(*steps)},
            {"series": f"fss_exporter_build_info{{{exporter}}}", "values": seen_alone},
            {"series": f'fss_collector_success{{{exporter},collector="nfs"}}', "values": seen_alone},
        ],
        "promql_expr_test": [
            {
                "expr": f'count by (alertname) (ALERTS{{alertname="{alert}",alertstate="firing",case=~"down|"}})',
                "eval_time": f"{hour}h",
                "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if hour > SEEN else [],
            }
            for alert in ("FssMonitoringBlind", "FssExporterDown")
            for hour in (1, 3, 25, 30, 74)
        ],
    }
    file = tmp_path / "long_silence_test.yml"
    rules = [with_alerts(tmp_path, "FssMonitoringBlind", "FssExporterDown")]
    file.write_text(yaml.safe_dump({"rule_files": rules, "evaluation_interval": "5m", "tests": [test]}))
    fine, said = promtool("test", "rules", file)

    assert fine, said


def _poller(name: str, spans: Sequence[tuple[float, float]], *mount_targets: str) -> list[dict[str, str]]:
    """Series of a poller that polls these mount targets between these hours, a scrape each minute."""
    labels = f'job="fss",instance="{name}",tenancy="t",region="r"'
    minutes = round(60 * max(end for _, end in spans)) + 1
    polls = [any(60 * begin <= minute < 60 * end for begin, end in spans) for minute in range(minutes)]

    def values(by_minute: Sequence[int]) -> str:
        return " ".join(str(value) if is_up else "_" for value, is_up in zip(by_minute, polls, strict=True))

    ended = {"series": f"fss_oci_poll_timestamp_seconds{{{labels}}}", "values": values(range(minutes))}
    listed = [
        {"series": f'fss_mount_target_info{{{labels},mount_target_id="{target}"}}', "values": values([1] * minutes)}
        for target in mount_targets
    ]
    return [ended, *listed]


_WEEK = 7 * 24
_DEAD = _poller("p", [(0, 2)], "a", "b")


def _pages(name: str, *hours: float) -> dict[float, list[str]]:
    """The pollers whose page fires in these hours: one, or none without a name."""
    return {hour: [name] if name else [] for hour in hours}


@pytest.mark.parametrize(
    ("series", "pages"),
    [
        pytest.param(
            _DEAD,
            _pages("p", 3, 8, 8.1, 8.2, 8.3, 9, 26, 74, _WEEK) | _pages("", 1, 9 + _WEEK),
            id="a poller that is gone for good is a page for a week",
        ),
        pytest.param(
            _poller("p", [(0, 2), (12, 20)], "a"),
            _pages("p", 11.5) | _pages("", 13, 19),
            id="a poller that is back after ten hours",
        ),
        pytest.param(
            [*_DEAD, *_poller("q", [(12, 30)], "a", "b")],
            _pages("p", 11.5) | _pages("", 13, 19, 29),
            id="another poller after ten hours",
        ),
        pytest.param(
            [*_DEAD, *_poller("q", [(7.9, 30)], "a", "b")],
            _pages("p", 7) | _pages("", 8.5, 9, 14, 29),
            id="another poller just before the six hours end",
        ),
        pytest.param(
            [*_DEAD, *_poller("q", [(2, 9)], "a", "b"), *_poller("r", [(9, 30)], "a")],
            _pages("q", 14) | _pages("", 3, 8.2, 9, 15.7, 15.8, 16.2, 29),
            id="pollers that take over at once, and a mount target that goes with the second is missed for six hours",
        ),
        pytest.param(
            [*_DEAD, *_poller("other shard", [(0, 30)], "c")],
            _pages("p", 3, 8.2, 9, 29),
            id="one shard of two",
        ),
    ],
)
def test_a_poller_that_is_away_stays_a_page_until_somebody_polls_its_mount_targets(
    tmp_path: Path, series: list[dict[str, str]], pages: Mapping[float, list[str]]
) -> None:
    fires = 'count by (instance) (ALERTS{alertname="FssOciPollerDown",alertstate="firing"})'
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [
            {
                "expr": fires,
                "eval_time": f"{round(60 * hour)}m",
                "exp_samples": [{"labels": f'{{instance="{name}"}}', "value": 1} for name in names],
            }
            for hour, names in pages.items()
        ],
    }
    file = tmp_path / "poller_down_test.yml"
    rules = [with_alerts(tmp_path, "FssOciPollerDown")]
    file.write_text(yaml.safe_dump({"rule_files": rules, "evaluation_interval": "1m", "tests": [test]}))
    fine, said = promtool("test", "rules", file)

    assert fine, said
