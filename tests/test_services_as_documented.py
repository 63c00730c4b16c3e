"""Each storage service from ceiling to estimate, alert and plan, with the figures of its document: read it as a specification."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.prompt import RECORDINGS, ask
from tests.rules.pack import CORE_FILES, groups_of, promtool

from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import APSARA_NAS, BLOCK_VOLUME, GB, GIB, LUSTRE, NONE, OCI_FSS, TB
from fss_toolbox.sizing.workload import Transfers, workload

MIB = 1024**2
MINUTE = 60
WARNING_RATIOS = {
    'fss_oci_warning_ratio{region="r"}': "0.8+0",
    'fss_client_warning_ratio{job="agent", instance="web", address="10.9.0.5"}': "0.8+0",
}

# The ticket about an address, where the address is in a milder state than near.
_BESIDE_ANOTHER_STATE = 'ALERTS{alertstate="firing", alertname="FssAddressUtilisationHigh"} unless on (network, address) address:fss_state:max >= 2'


def assert_fire(folder: Path, series: dict[str, str], *alerts: str) -> None:
    """After twenty minutes of these series exactly these alerts on ceilings fire, `name severity`: the real promtool says so."""
    files = CORE_FILES
    names = "FssMountTargetIopsHigh|FssAddressUtilisationHigh|FssServiceUtilisationHigh|FssVolumeThrottled"
    expected = (alert.split() for alert in alerts)
    case = {
        "interval": "1m",
        "input_series": [
            {"series": name, "values": f"{values}x20"} for name, values in (WARNING_RATIOS | series).items()
        ],
        "promql_expr_test": [
            {
                "expr": f'group by (alertname, severity) (ALERTS{{alertstate="firing", alertname=~"{names}"}})',
                "eval_time": "20m",
                "exp_samples": [
                    {"labels": f'{{alertname="{name}", severity="{severity}"}}', "value": 1}
                    for name, severity in expected
                ],
            },
            {"expr": _BESIDE_ANOTHER_STATE, "eval_time": "20m", "exp_samples": []},
        ],
    }
    test = {"rule_files": list(map(str, files)), "group_eval_order": groups_of(*files), "tests": [case]}
    path = folder / "test.yml"
    path.write_text(json.dumps(test | {"evaluation_interval": "1m"}))
    fine, said = promtool("test", "rules", path)
    assert fine, said


def planned(*flags: str) -> dict[str, Any]:
    document: dict[str, Any] = ask("plan", *flags, "--output", "json").document
    return document


def of_resource(service: str, name: str) -> str:
    return f'{{region="r", service="{service}", resource_id="ocid1.{name}", resource="{name}"}}'


class TestOciFileStorage:
    """White paper 2.0: 50,000 IOPS and 1 GB/s each way; a RENAME is 8 of them, a READ of 1 MiB 33."""

    def test_ceiling(self) -> None:
        assert OCI_FSS.ceilings("standard", None) == Limits(50_000, 1e9, 1e9)

    def test_estimate(self) -> None:
        cost = workload(Transfers(100, MIB), None, {"RENAME": 10}).iops
        assert cost is not None
        assert cost.point == 100 * 33 + 10 * 8

    def test_alert(self, tmp_path: Path) -> None:
        target = 'region="r", mount_target_id="ocid1.mt", mount_target="mt", resource="iops"'
        load = f'fss_mount_target_utilisation_ratio{{{target}, statistic="peak", source="measured"}}'
        series = {load: f"{41_000 / 50_000}+0", f"fss_mount_target_data_age_seconds{{{target}}}": "60+0"}
        assert_fire(tmp_path, series, "FssMountTargetIopsHigh warning")

    def test_plan(self) -> None:
        """2,000 READs of 1 MiB are 66,000 IOPS: two mount targets at 80 % of 50,000, but three for the 2.1 GB/s."""
        (answer,) = planned("--reads", "2000", "--read-size", "1MiB")["plans"]
        assert answer["mount_targets"] == 3


class TestApsaraNas:
    """Version 20210922: 150 MB/s (MiB) more with each 1,000 GiB of Capacity NAS, 600 of Performance NAS; IOPS are plain."""

    def test_ceiling(self) -> None:
        assert APSARA_NAS.ceilings("capacity", 1000 * GIB) == Limits(bytes_per_second=150 << 20)
        assert APSARA_NAS.ceilings("performance", 2000 * GIB) == Limits(bytes_per_second=1200 << 20)

    def test_estimate(self, tmp_path: Path) -> None:
        """READs and WRITEs of a recorded host, its mount renamed: one each, whatever their size, and nothing else."""
        looks = []
        for name in ("before", "after"):
            text = (RECORDINGS / f"k_mixed/{name}.txt").read_text()
            looks.append(tmp_path / name)
            looks[-1].write_text(text.replace("10.80.1.10:", "x.cn-hangzhou.nas.aliyuncs.com:"))
        flags = ("--from", looks[0], "--to", looks[1], "--by", "operation", "--output", "json")
        (target,) = ask("iostat", *flags).document["mount_targets"]

        counted = {operation["operation"]: operation["operations_per_second"] for operation in target["operations"]}
        assert counted.keys() > {"READ", "WRITE"}
        assert target["estimated_iops"]["point"] == pytest.approx(counted["READ"] + counted["WRITE"])

    def test_alert(self, tmp_path: Path) -> None:
        """1,000 GiB of Capacity NAS and 130 MB/s of reads: 87 %."""
        mount = 'job="agent", instance="web", address="10.9.0.5", server="x.nas.aliyuncs.com", export="/share", service="apsara-nas"'
        series = {
            f"fss_client_read_bytes_total{{{mount}}}": f"0+{130_000_000 * MINUTE}",
            f'fss_client_operations_total{{{mount}, operation="READ"}}': f"0+{130 * MINUTE}",
            f"fss_client_written_bytes_total{{{mount}}}": "0+0",
            f'fss_client_operations_total{{{mount}, operation="WRITE"}}': "0+0",
            'fss_client_bytes_per_second_limit{job="agent", instance="web", address="10.9.0.5"}': "150000000+0",
        }
        assert_fire(tmp_path, series, "FssAddressUtilisationHigh warning")

    def test_a_second_at_95_percent_of_a_stated_ceiling_is_near_and_a_ticket(self, tmp_path: Path) -> None:
        mount = 'job="agent", instance="web", address="10.9.0.5"'
        for peak, alerts in ((48_000, ["FssAddressUtilisationHigh warning"]), (47_000, [])):
            series = {
                f"fss_client_peak_estimated_iops{{{mount}}}": f"{peak}+0",
                f"fss_client_iops_limit{{{mount}}}": "50000+0",
                f"fss_client_address_estimated_io_operations_total{{{mount}}}": f"0+{500 * MINUTE}",
            }
            assert_fire(tmp_path, series, *alerts)

    def test_plan(self) -> None:
        """300 MiB/s of 1 MiB writes take 2,000 GiB, 30 of 128 requests in flight at 100 ms, and two clients of 150 MiB/s."""
        answer = planned(
            *("--service", "apsara-nas", "--type", "capacity", "--write-bandwidth", "300MiB/s", "--target", "1")
        )
        assert answer["offers"] == [{"type": "capacity", "capacity_bytes": pytest.approx(2000 * GIB)}]
        assert answer["in_flight"] == pytest.approx(30.0)
        assert (answer["in_flight_limit"], answer["clients"]) == (128, 2)


class TestLustre:
    """Managed Lustre: 125, 250, 500 or 1,000 MB/s per TB, 31.2 TiB at least. Self-managed: volumes or card, whichever is less."""

    def test_ceiling(self) -> None:
        assert LUSTRE.ceilings("mbps-per-tb-125", 40 * TB) == Limits(bytes_per_second=5e9)
        assert LUSTRE.kinds["mbps-per-tb-125"].least_bytes == 31.2 * 1024 * GIB

    def test_alert(self, tmp_path: Path) -> None:
        """40 TB of 125 MB/s per TB: 3.2 GB/s read and 1.6 GB/s written are 96 %."""
        labels = of_resource("lustre", "render")
        series = {
            f"fss_service_read_bytes_per_second{labels}": "3.2e9+0",
            f"fss_service_write_bytes_per_second{labels}": "1.6e9+0",
            f"fss_service_bytes_per_second_limit{labels}": "5e9+0",
        }
        assert_fire(tmp_path, series, "FssServiceUtilisationHigh warning")

    def test_plan(self) -> None:
        """8 GB/s at 80 % of the ceiling: 80 TB of 125 MB/s per TB, 40 of 250, each the next size on sale, else the smallest."""
        offers = planned("--service", "lustre", "--read-bandwidth", "8GB/s")["offers"]
        sizes = [offer["capacity_bytes"] / (1024 * GIB) for offer in offers]
        assert sizes == pytest.approx([72.8, 41.6, 31.2, 31.2])

    def test_plan_of_a_self_managed_server(self) -> None:
        """16 volumes of 800 GB behind a card of 25 Gbit/s: 3.125 GB/s, so over 5 GiB/s take two servers at 100 %."""
        answer = planned(
            *("--service", "block-volume", "--type", "vpu-20", "--capacity", "800GB", "--volumes", "16"),
            *("--server-network", "25Gbit/s", "--read-bandwidth", "5GiB/s", "--target", "1"),
        )
        assert "3,125.00 MB/s. The load takes 2 such servers" in answer["sentences"][-2]


class TestBlockVolumes:
    """The tables of Oracle's pages on Lower Cost, Balanced, Higher and Ultra High Performance."""

    @pytest.mark.parametrize(
        ("level", "per_gb", "most", "kb_per_gb", "most_mb"),
        [
            ("vpu-0", 2, 3_000, 240, 480),
            ("vpu-10", 60, 25_000, 480, 480),
            ("vpu-20", 75, 50_000, 600, 680),
            ("vpu-30", 90, 75_000, 720, 880),
            ("vpu-40", 105, 100_000, 840, 1_080),
            ("vpu-50", 120, 125_000, 960, 1_280),
            ("vpu-60", 135, 150_000, 1_080, 1_480),
            ("vpu-70", 150, 175_000, 1_200, 1_680),
            ("vpu-80", 165, 200_000, 1_320, 1_880),
            ("vpu-90", 180, 225_000, 1_440, 2_080),
            ("vpu-100", 195, 250_000, 1_560, 2_280),
            ("vpu-110", 210, 275_000, 1_680, 2_480),
            ("vpu-120", 225, 300_000, 1_800, 2_680),
        ],
    )
    def test_documented_level(self, level: str, per_gb: float, most: float, kb_per_gb: float, most_mb: float) -> None:
        assert BLOCK_VOLUME.ceilings(level, GB) == Limits(per_gb, bytes_per_second=kb_per_gb * 1e3)
        assert BLOCK_VOLUME.ceilings(level, 32 * TB) == Limits(most, bytes_per_second=most_mb * 1e6)

    def test_ceiling(self) -> None:
        assert BLOCK_VOLUME.ceilings("vpu-10", 100 * GB) == Limits(6_000, bytes_per_second=48e6)
        assert BLOCK_VOLUME.ceilings("vpu-10", TB) == Limits(25_000, bytes_per_second=480e6)
        assert BLOCK_VOLUME.ceilings("vpu-120", 10 * TB) == Limits(300_000, bytes_per_second=2_680e6)

    def test_alert(self, tmp_path: Path) -> None:
        """100 GB balanced: 5,000 of 6,000 IOPS, and some operations held back."""
        labels = of_resource("block-volume", "db")
        series = {
            f"fss_service_read_operations_per_second{labels}": "4000+0",
            f"fss_service_write_operations_per_second{labels}": "1000+0",
            f"fss_service_iops_limit{labels}": "6000+0",
            f"fss_service_throttled_operations_total{labels}": "0+600",
        }
        assert_fire(tmp_path, series, "FssServiceUtilisationHigh warning", "FssVolumeThrottled warning")

    def test_plan(self) -> None:
        """12,000 reads of 4 KiB take 200 GB of balanced volume."""
        flags = ("--service", "block-volume", "--type", "vpu-10", "--target", "1")
        (offer,) = planned(*flags, "--reads", "12000", "--read-size", "4KiB")["offers"]
        assert offer == {"type": "vpu-10", "capacity_bytes": 200 * GB}


class TestNoService:
    def test_nothing_is_known_so_nothing_is_judged(self) -> None:
        assert NONE.ceilings("", None) == Limits()
        assert NONE.cost == "unknown"
