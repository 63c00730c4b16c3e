"""From a mount target at its ceiling to a message: demo region, exporter, prometheus with the shipped rules, alertmanager."""

import json
import re
import urllib.request
from functools import partial
from pathlib import Path

import pytest
import yaml
from tests.e2e.alerting import alertmanager, faster, prometheus_configuration, receiver, routes_to, with_true_rates
from tests.processes import PATIENCE_S, exporter, get, prometheus, wait_for
from tests.region import Region, shared_account


def exporter_configuration(region: Region, directory: Path) -> Path:
    """A configuration file that polls the demo region as often as it may."""
    path = directory / "fss-exporter.yml"
    credentials = region.account.write_config(directory, region.tenancy.region)
    oci = {"config_file": str(credentials), "endpoint": region.url, "poll_interval": 10, "calls_per_second": 9}
    path.write_text(yaml.safe_dump({"oci": oci}), encoding="utf-8")
    return path


def raise_ceiling(configuration: Path) -> None:
    """Give mt-home ten times its IOPS ceiling."""
    document = yaml.safe_load(configuration.read_text(encoding="utf-8"))
    document["limits"] = {"mount_targets": {"mt-home": {"iops": 500_000}}}
    configuration.write_text(yaml.safe_dump(document), encoding="utf-8")


def descriptions(manager: str, alert: str) -> list[str]:
    """Texts of an alert that an Alertmanager holds now."""
    held = json.loads(get(f"{manager}/api/v2/alerts"))
    return [message["annotations"]["description"] for message in held if message["labels"]["alertname"] == alert]


def test_only_the_mount_target_at_its_iops_ceiling_has_an_alert_until_the_ceiling_is_raised(tmp_path: Path) -> None:
    region = Region(account=shared_account())
    region.start()
    try:
        with receiver() as messages:
            routes = routes_to(messages)
            flags = (
                "--no-collector.nfs",
                "--collector.oci",
                f"--config.file={exporter_configuration(region, tmp_path)}",
            )
            with (
                exporter(tmp_path / "exporter", *flags) as target,
                alertmanager(tmp_path, routes) as manager,
                prometheus(prometheus_configuration(tmp_path, target, manager), tmp_path / "prometheus") as server,
            ):
                high = 'ALERTS{alertname="FssMountTargetIopsHigh",alertstate="firing"}'
                wait_for(lambda: server.query(high), "the mount target at its ceiling to be seen")
                wait_for(lambda: messages.told("FssMountTargetIopsHigh"), "a message about it")
                # Where a busy machine lets a scrape take longer than half a second, there is nothing until the next.
                (row,) = wait_for(lambda: server.query('fss_mount_target_info{mount_target="mt-home"}'), "a scrape")
                home = row["metric"]["mount_target_id"]
                firing = wait_for(lambda: server.query(high), "the alert in a scrape")
                assert [row["metric"]["mount_target_id"] for row in firing] == [home]
                assert messages.told("FssMountTargetIopsHigh")[0] == ("tickets", "firing", home)
                (text,) = wait_for(
                    partial(descriptions, manager, "FssMountTargetIopsHigh"), "the alert at the Alertmanager"
                )
                assert re.search(
                    r"Mount target mt-home \([\d.]+, eu-frankfurt-1\) used about [89]\d(\.\d+)?% of its IOPS ceiling",
                    text,
                )

                # The load of five minutes cannot fall faster than in five minutes. A higher ceiling counts at once.
                raise_ceiling(tmp_path / "fss-exporter.yml")
                urllib.request.urlopen(urllib.request.Request(f"{target}/-/reload", method="POST"), timeout=PATIENCE_S)
                wait_for(lambda: not server.query(high), "the alert to end")
                gone = ("tickets", "resolved", home)
                wait_for(lambda: gone in messages.told("FssMountTargetIopsHigh"), "the message that it ended")

        assert {who for _, _, who in messages.told("FssMountTargetIopsHigh")} == {home}
        assert not [note for note in messages.notifications if note["commonLabels"].get("severity") == "info"]
    finally:
        region.stop()


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("for: 10m", "for: 6s"),
        ("rate(x[5m])", "rate(x[3s])"),
        ("x[3d:1h]", "x[2592s:36s]"),
        ("x[1h:1m]", "x[36s:1s]"),
        ("x[8m30s]", "x[5s]"),
        ("offset 2d", "offset 1728s"),
        ("offset 1w", "offset 6048s"),
        ("up == 10", "up == 10"),
    ],
)
def test_only_durations_are_made_shorter(text: str, shorter: str) -> None:
    assert faster(text) == shorter


def test_a_rate_is_divided_where_it_stands() -> None:
    text = 'a / rate(x{verdict=~"slow|failing"}[5s]) > 0'

    assert with_true_rates(text, 60) == 'a / (rate(x{verdict=~"slow|failing"}[5s]) / 60) > 0'
