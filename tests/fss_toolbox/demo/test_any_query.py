"""Whatever is asked, the region answers or refuses; it never breaks."""

from datetime import UTC, datetime, timedelta
from functools import cache

from hypothesis import given, strategies as st
from tests.clock import NOW, Clock
from tests.region import Region, shared_account, small

from fss_toolbox.demo.region.api_operations import ApiOperation, Call
from fss_toolbox.demo.region.metric_streams import published_metrics
from fss_toolbox.demo.region.refusal import Refusal

STATISTICS = ("mean", "max", "min", "sum", "count", "first", "last", "rate", "increment", "absent", "avg")

metric = st.builds(
    lambda name, interval, chosen, grouped, statistic: f"{name}[{interval}]{chosen}{grouped}.{statistic}()",
    st.sampled_from([row.name for row in published_metrics()] + ["Nothing"]),
    st.sampled_from(["1m", "5m", "1h"]),
    st.sampled_from(
        ["", '{resourceId =~ "*"}', '{size = "0B_to_8KiB"}', '{operation =~ "CREATE|REMOVE"}', '{x =~ "[a?"}']
    ),
    st.sampled_from(["", ".grouping()", ".groupBy(resourceId)", ".groupBy(size, mountTargetId)"]),
    st.sampled_from(STATISTICS),
)
compared = st.builds(
    lambda query, predicate: f"{query} {predicate}",
    metric,
    st.sampled_from(["> 0", ">= 1000000", "== 0", "!= 3", "in (1, 5)", "not in (0, 1)"]),
)
query = st.one_of(
    metric,
    compared,
    st.builds(
        lambda a, sign, b: f"{a} {sign} {b}", metric, st.sampled_from("+-*/%"), metric | st.just("0") | st.just("7")
    ),
    st.builds(lambda a, sign, b: f"{a} {sign} {b}", compared, st.sampled_from(["&&", "||"]), compared),
    st.builds(lambda a, rest: f"({a}){rest}", compared, st.sampled_from([".grouping().sum()", ".rate()", ".count()"])),
    st.text(max_size=30),
)
moments = st.none() | st.integers(-(10**6), 10**6).map(
    lambda s: datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=s)
)


@cache
def summarize() -> tuple[Region, ApiOperation]:
    """A region that does not listen, and its operation: made for the test, because a region takes time to make."""
    region = Region(small(), account=shared_account(), now=Clock())
    return region, next(operation for operation in region.operations if operation.name == "SummarizeMetricsData")


@given(
    text=query,
    start=moments,
    end=moments,
    resolution=st.sampled_from([None, "1m", "5m", "1h", "2d", ""]),
    namespace=st.sampled_from(["oci_filestorage", "oci_filestorage", "elsewhere"]),
)
def test_any_query_over_any_time_is_answered_or_refused_with_400(
    text: str, start: datetime | None, end: datetime | None, resolution: str | None, namespace: str
) -> None:
    region, operation = summarize()
    assert operation.body is not None
    details = operation.body.model_construct(
        namespace=namespace, query=text, start_time=start, end_time=end, resolution=resolution, resource_group=None
    )
    scope = operation.query.model_construct(compartment_id=region.tenancy.id, compartment_id_in_subtree=True)
    try:
        answer = operation.handle(Call({}, scope, details, {}))
    except Refusal as no:
        assert (no.status, no.code) == (400, "InvalidParameter")  # noqa: PT017  # both ends are fine, a third is not
        return
    assert isinstance(answer.body, list)
    for stream in answer.body:
        assert stream["aggregatedDatapoints"]
        assert stream["namespace"] == namespace
