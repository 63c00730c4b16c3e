"""docs/commands/demo.md: every knob it turns turns, and what it says of the tenancy is so."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.fss_toolbox.demo.sdk import MINUTE, Clients
from tests.fss_toolbox.demo.test_control import ask
from tests.region import Region, small

from fss_exporter.model.limits import STANDARD

PAGE = (Path(__file__).parents[3] / "docs/commands/demo.md").read_text()
CURLS = re.findall(r"^curl .*$", PAGE, re.MULTILINE)


def turn(line: str, region: Region) -> int:
    """Do what a curl line does; the status."""
    words = shlex.split(line)
    options = dict(zip(words[1:-1:2], words[2:-1:2], strict=True))
    headers = dict([options["-H"].split(": ")]) if "-H" in options else {}
    body = json.loads(options["-d"]) if "-d" in options else None
    method = options.get("-X", "POST" if body else "GET")
    return ask(region, method, words[-1].removeprefix("$REGION"), body, headers)[0]


@pytest.mark.parametrize("line", CURLS)
def test_a_knob_it_shows_turns(line: str, region: Region) -> None:
    assert turn(line, region) == 200


def test_the_first_knob_brings_the_mount_target_above_80_percent_and_the_second_back(
    region: Region, sdk: Clients
) -> None:
    ceiling = STANDARD.limits.iops
    assert ceiling
    for line, above in zip(CURLS, (True, False), strict=False):
        turn(line, region)
        shares = [sdk.truth("MountTargetIOPS", "mt-home-b", minute) / ceiling for minute in range(MINUTE, MINUTE + 90)]
        assert all(share > 0.8 for share in shares) is above
        assert all(share < 0.8 for share in shares) is not above


def test_it_names_every_mount_target_with_its_address() -> None:
    told = re.findall(r"^\| (mt-[\w-]+) \| ([\d.]+) \|", PAGE, re.MULTILINE)
    assert told == [(target.name, target.address) for target in small().mount_targets]


def test_every_operation_it_names_is_served(region: Region) -> None:
    served = {operation.name for operation in region.operations}
    assert set(re.findall(r"\b(?:List|Get|Summarize|Post)[A-Z]\w+", PAGE.split("## The OCI CLI")[1])) <= served
