"""`plan --place` of the demo's history is followed in the demo, and the shares come out as predicted."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import NOW
from tests.fss_toolbox.calibrate.simulated_client import FastClock
from tests.fss_toolbox.plan.demo_history import MINUTES, recorded
from tests.prompt import ask
from tests.region import Region, Tenancy, small

from fss_toolbox.demo.region.demo_tenancy import Link, ocid

CEILINGS = {"MountTargetIOPS": 50_000, "MountTargetReadThroughput": 1e9, "MountTargetWriteThroughput": 1e9}


def built(tenancy: Tenancy, placement: Mapping[str, Any]) -> Tenancy:
    """The tenancy with the new mount targets and exports of a placement."""
    by_name = {each.name: each for each in tenancy.mount_targets}
    for each in placement["mount_targets"]:
        if each["is_new"]:
            like = next(
                mount_target
                for mount_target in tenancy.mount_targets
                if mount_target.availability_domain == each["availability_domain"]
                and "io_operations" in mount_target.ceilings
            )
            by_name[each["name"]] = replace(
                like,
                id=ocid("mounttarget", tenancy.region, each["name"]),
                export_set_id=ocid("exportset", tenancy.region, each["name"]),
                private_ip_id=ocid("privateip", tenancy.region, each["name"]),
                name=each["name"],
                address="10.80.9.9",
            )
    links = [
        Link(ocid("export", tenancy.region, str(number)), by_name[move["to"]].id, move["file_system_id"], move["path"])
        for number, move in enumerate(placement["moves"])
        if move["needs_export"]
    ]
    return replace(tenancy, mount_targets=tuple(by_name.values()), links=(*tenancy.links, *links))


def share(region: Region, mount_target: str, minute: int) -> float:
    """Share of the fullest ceiling of a standard mount target in a minute."""
    return max((region.truth(metric, mount_target, minute) or 0.0) / most for metric, most in CEILINGS.items())


def test_the_demo_follows_the_placement_and_the_shares_come_out_as_predicted(
    regions: Callable[..., Region], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, new = 0.4, 2
    clock = FastClock(NOW + 20)
    with recorded(regions(now=clock), clock, tmp_path / "before", monkeypatch) as server:
        answer = ask("plan", "--prometheus", server.url, "--place", "--target", target, "--output", "json")
    assert answer.code == 0, answer.err
    placement = answer.document["placement"]
    full = {each["name"] for each in placement["mount_targets"] if (each["ratio_now"] or 0.0) > target}
    assert {"mt-home", "mt-scratch"} <= full
    assert all(each["ratio_then"] <= target for each in placement["mount_targets"])

    assert sum(each["is_new"] for each in placement["mount_targets"]) == new

    clock = FastClock(NOW + 20)
    region = regions(built(small(), placement), now=clock)
    for move in placement["moves"]:
        region.move(move["file_system_id"], move["from"], move["to"], move["share"])
    minutes = range(region.minute + 5, region.minute + 1 + MINUTES)
    for each in placement["mount_targets"]:
        if each["name"] != "mt-media":  # No document states its ceilings of IOPS and writes.
            busiest = max(sum(share(region, each["name"], minute - at) for at in range(5)) / 5 for minute in minutes)
            assert busiest == pytest.approx(each["ratio_then"], rel=0.05), each["name"]
            assert busiest <= target
