"""What goes wrong on demand, as the real SDK meets it."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import oci
import pytest
from hypothesis import given, strategies as st
from tests.clock import Clock
from tests.fss_toolbox.demo.minutes import between, points
from tests.fss_toolbox.demo.sdk import MINUTE, Clients, clients, refused
from tests.processes import NEVER_S, PROMPT_S
from tests.region import Region
from tests.region.strict import KINDS

from fss_exporter.errors import UsageError
from fss_toolbox.demo.region.faults import Fault

IOPS = "MountTargetIOPS[1m].mean()"


class TestText:
    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("", "no kind ''"),
            ("418", "no kind '418'"),
            ("slow:ListAlarms,seconds=soon", "seconds=soon"),
            ("slow,seconds", "'seconds'"),
            ("503,times=0", "times=0"),
            ("503,times=-1", "times=-1"),
            ("503,times=two", "times=two"),
            ("503,seconds=3", "seconds=3"),
            ("gaps,share=2", "share=2"),
            ("gaps,share=nan", "share=nan"),
            ("gaps:ListMetrics", "Leave out :ListMetrics"),
            ("late,times=1", "times=1"),
            ("429,colour=red", "colour=red"),
            ("429,match=", "match="),
            ("delete", "resource=mt-idle"),
        ],
    )
    def test_a_mistake_is_named_with_what_would_be_right(self, text: str, word: str) -> None:
        with pytest.raises(UsageError) as wrong:
            KINDS.parse(text)
        assert word in str(wrong.value)

    @given(
        kind=st.sampled_from(sorted(KINDS.wire)),
        operation=st.sampled_from(["*", "ListMetrics", "List*"]),
        times=st.none() | st.integers(1, 99),
        match=st.sampled_from(["", "MountTargetIOPS", "ocid1.mounttarget.oc1..x"]),
    )
    def test_what_is_printed_can_be_read_again(self, kind: str, operation: str, times: int | None, match: str) -> None:
        fault = KINDS.parse(str(Fault(kind, operation, times, match)))
        assert KINDS.parse(str(fault)) == fault
        assert (fault.kind, fault.operation, fault.times, fault.match) == (kind, operation, times, match)

    def test_every_kind_can_be_set_with_its_defaults(self) -> None:
        for kind in (*KINDS.wire, *KINDS.data):
            assert KINDS.parse(f"{kind},resource=x" if kind == "delete" else kind).kind == kind


class TestAnswers:
    @pytest.mark.parametrize(
        ("fault", "status", "code"),
        [
            ("429", 429, "TooManyRequests"),
            ("500", 500, "InternalServerError"),
            ("503", 503, "ServiceUnavailable"),
            ("deny", 404, "NotAuthorizedOrNotFound"),
        ],
    )
    def test_errors_have_their_documented_status_and_code_documented_api_errors(
        self, fault: str, status: int, code: str, sdk: Clients
    ) -> None:
        sdk.region.add_fault(fault)
        with refused(status, code):
            sdk.summarize(IOPS)

    def test_a_fault_of_an_operation_that_is_not_there_is_refused(self, region: Region) -> None:
        with pytest.raises(UsageError, match=r"no operation 'ListMountTarget'. Known are .*ListMountTargets"):
            region.add_fault("429:ListMountTarget")
        assert region.faults() == []

    def test_a_stopping_region_does_not_wait_for_slow_answers(self, regions: Callable[..., Region]) -> None:
        region = regions()
        region.add_fault(f"slow,seconds={NEVER_S:.0f}")
        sdk = clients(region)

        def ask() -> None:
            with suppress(oci.exceptions.RequestException):
                sdk.summarize(IOPS)

        threading.Thread(target=ask, daemon=True).start()
        while not region.calls["SummarizeMetricsData"]:
            time.sleep(0.01)
        begun = time.monotonic()
        region.stop()
        assert time.monotonic() - begun < PROMPT_S


class TestData:
    def test_late_points_arrive_in_pairs_within_their_time(self, region: Region, clock: Clock) -> None:
        region.add_fault("late,seconds=180")
        raw = clients(region, raw=True)
        first_seen: dict[str, dict[str, float]] = {target.id: {} for target in region.tenancy.mount_targets}
        for _ in range(13 * 12):
            clock.now += 5
            for stream in raw.summarize(IOPS, **between(MINUTE, MINUTE + 13)):
                for point in stream["aggregatedDatapoints"]:
                    first_seen[stream["dimensions"]["resourceId"]].setdefault(point["timestamp"], clock.now)
        for seen in first_seen.values():
            moments = [moment for _, moment in sorted(seen.items())][:8]
            lateness = [moment - 60 * (MINUTE + number) for number, moment in enumerate(moments)]
            assert moments[0::2] == moments[1::2], "two minutes at once"
            assert 60 <= max(lateness) <= 180 + 5

    def test_gaps_never_fill_and_the_truth_knows_them(self, region: Region, clock: Clock) -> None:
        region.add_fault("gaps,share=0.3")
        raw = clients(region, raw=True)
        clock.pass_minutes(200)
        shown = {
            stream["dimensions"]["resourceId"]: len(stream["aggregatedDatapoints"])
            for stream in raw.summarize(IOPS, **between(MINUTE, MINUTE + 199))
        }
        for target in region.tenancy.mount_targets:
            there = [
                minute
                for minute in range(MINUTE, MINUTE + 200)
                if region.truth("MountTargetIOPS", target.id, minute) is not None
            ]
            assert shown[target.id] == len(there)
            assert 110 < len(there) < 170

    def test_data_faults_spoil_only_the_minutes_they_are_set_in(self, region: Region, clock: Clock) -> None:
        clock.pass_minutes(10)
        region.add_fault("gaps,share=1")
        clock.pass_minutes(10)
        region.clear_faults()
        there = [
            minute - MINUTE
            for minute in range(MINUTE, MINUTE + 30)
            if region.truth("MountTargetIOPS", "mt-home", minute)
        ]
        assert there == [*range(10), *range(20, 30)]

    def test_a_deleted_resource_goes_silent_in_the_middle(self, sdk: Clients, clock: Clock) -> None:
        clock.pass_minutes(5)
        sdk.region.add_fault("delete,resource=mt-home-b")
        clock.pass_minutes(5)
        gone = sdk.region.tenancy.named("mt-home-b")
        stream = sdk.summarize(f'MountTargetIOPS[1m]{{resourceId = "{gone}"}}.mean()', **between(MINUTE, MINUTE + 9))[0]
        assert list(points(stream)) == list(range(MINUTE, MINUTE + 5))

    @pytest.mark.parametrize("resource", ["mt-nowhere", "ocid1.mounttarget.oc1.eu_frankfurt_1.nowhere"])
    def test_deleting_what_is_not_there_says_so(self, region: Region, resource: str) -> None:
        with pytest.raises(LookupError, match=resource):
            region.add_fault(f"delete,resource={resource}")
