"""Every shipped query, asked of the demo region by the real SDK: it draws something, by every dimension it names."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.clock import NOW, Clock
from tests.fss_toolbox.demo.sdk import Clients, clients
from tests.region import Region, shared_account, small

from fss_exporter.model.limits import SHAPES
from fss_exporter.oci.iam import NAMESPACE, PUBLISHED_NAMESPACE
from fss_exporter.oci.metric_table import SERVICE_METRICS
from fss_toolbox import mql
from fss_toolbox.alarms import pack

MQL = Path(__file__).parents[3] / "mql"
MEDIA = next(target.id for target in small().mount_targets if target.name == "mt-media")
OCIDS = {f"{shape.upper().replace('-', '_')}_MOUNT_TARGET_OCIDS": MEDIA for shape in SHAPES}
ALARM_QUERIES = {
    f"{alarm.key} {name}": str(rule["query"])
    for alarm in (*pack.load(MQL / "alarms"), *pack.load(MQL / "other-services"))
    for name, rule in pack.fill(alarm, OCIDS).rules()
    if alarm.body["namespace"] != PUBLISHED_NAMESPACE
}
PASTED = {file.stem: file.read_text().strip() for file in (MQL / "queries").glob("*.mql")}
PUBLISHED = {"utilization-iops"}  # of the exporter's own namespace, empty until it publishes


@pytest.fixture(scope="module")
def clients_of_all() -> Iterator[Clients]:
    """Tests only read, so that they share a region."""
    with Region(
        small(), account=shared_account(), calls_per_second={}, now=Clock(), wall=lambda: datetime.now(UTC).timestamp()
    ) as region:
        yield clients(region, raw=True)


@pytest.mark.parametrize(
    "text",
    [*ALARM_QUERIES.values(), *(text for name, text in PASTED.items() if name not in PUBLISHED)],
    ids=[*ALARM_QUERIES, *(f"queries/{name}" for name in PASTED if name not in PUBLISHED)],
)
def test_a_shipped_query_draws_streams_with_every_dimension_it_groups_by(clients_of_all: Clients, text: str) -> None:
    end = datetime.fromtimestamp(NOW, UTC)
    (metric, *_) = mql.metrics(mql.parse(text))
    namespace = SERVICE_METRICS[metric.name].namespace if metric.name in SERVICE_METRICS else NAMESPACE
    streams = clients_of_all.summarize(
        text, namespace=namespace, start_time=end - timedelta(hours=2), end_time=end, resolution="1m"
    )
    if "absent(" not in text:  # nothing is absent there
        assert streams, text
    query = next(mql.queries(mql.parse(text)))
    for stream in streams:
        for stage in query.stages[-1:]:
            assert stage.group_by is None or set(stage.group_by) <= set(stream["dimensions"])
