"""The modules on the path of one datapoint, as docs/architecture.md lists them."""

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tests.oci.fake_cloud import FakeCloud, mount_target
from tests.oci.polled_region import PolledRegion

from fss_exporter.catalogue import text
from fss_exporter.oci.calls import CallBudget, SelfMetrics
from fss_exporter.oci.cloud_client import Stream
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs/architecture.md").read_text()
GENERATED = {"__hash__", "__eq__"}
"""Methods that a dataclass writes, for keys of dictionaries."""


def module(name: str) -> str:
    """Return the file of a module of the package, as the page names it."""
    return name.removeprefix("fss_exporter.").replace(".", "/") + ".py"


class Profile:
    """Modules of the package whose functions are called or return, from the first answer on.

    The functions that wait for the answer count by their return, because Python 3.12 and later call no function for a
    comprehension.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.begins = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event in {"call", "return"} and name.startswith("fss_exporter.") and frame.f_code.co_name not in GENERATED:
            self.modules.add(module(name))

    def begin(self, streams: list[Stream | None]) -> list[Stream | None]:
        if self.begins:
            sys.setprofile(self)
        return streams


def test_a_datapoint_passes_the_modules_of_the_architecture_page() -> None:
    profile = Profile()
    names = ("MountTargetReadThroughput",)
    poll = PolledRegion(FakeCloud([mount_target("a")], spoil=profile.begin, names=names))
    budget = CallBudget(5.0, clock=poll.clock, wait=lambda _: None)
    collector = OciCollector(poll.board, poll.polls, SelfMetrics(), budget=budget, settings=Settings(), now=poll.clock)
    for _ in range(2):
        poll.minute()
        list(collector.collect())
    profile.begins = True
    poll.now += 60
    try:
        poll.polls.run_round()
        profile.begins = False
        sys.setprofile(None)
        read = [one for one in collector.collect() if one.metric.name == "fss_mount_target_read_bytes_total"]
        sys.setprofile(profile)
        page = b"".join(text.plain(read))
    finally:
        sys.setprofile(None)
    assert b"fss_mount_target_read_bytes_total{" in page
    listed = PAGE[PAGE.index("From the decoded answer") : PAGE.index("A test compares the list")]
    collecting = {module(OciCollector.__module__), module(type(read[0]).__module__)}
    assert sorted(re.findall(r"`((?:oci|catalogue)/\w+\.py)`", listed)) == sorted(profile.modules | collecting)
