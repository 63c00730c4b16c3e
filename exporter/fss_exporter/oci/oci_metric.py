"""A metric of OCI Monitoring: the query, the owner of a stream, and the exported metric. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from fss_exporter.catalogue import Metric
from fss_exporter.oci import mql
from fss_exporter.oci.iam import NAMESPACE

Owner = Literal["mount_target", "file_system", "behind", "replication", "ldap", "tenancy", "lock_mode", "service"]
"""Owner of a stream: `behind` is a file system behind one mount target, `ldap` a mount target with a connector, `service` a
resource of another service.
"""

Idle = Literal["zero", "silent", "state"]
"""Meaning of a missing point. `zero` metrics send zeros while idle, so the point is late. `silent` metrics send nothing
without an event. A `state` is always sent.
"""

_OWN_DIMENSION: Final = {"mount_target": "resourceId", "file_system": "resourceId", "service": "resourceId"}


@dataclass(frozen=True, slots=True)
class OciMetric:
    """One metric of OCI Monitoring."""

    name: str  # as documented; what is sent is the spelling the tenancy has
    statistic: str  # MQL statistic over one minute
    owner: Owner  # whose a stream is
    idle: Idle  # what no point means
    gauge: Metric | None = None  # exported metric that shows the newest complete minute
    counter: Metric | None = None  # exported metric that adds up every minute
    # OCI dimensions that become the labels behind the owner's, in the catalogue's order
    dimensions: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)  # dimension values to ask for
    group_by: tuple[str, ...] | None = None  # dimensions to keep apart; None keeps all
    scale: float = 1.0  # factor from the documented unit to the gauge's
    per_minute: float = 1.0  # factor from a minute's value to what the counter adds
    discovered_only: bool = False  # never asked for unless the tenancy is found to have it
    namespace: str = NAMESPACE  # where it is
    service: str = ""  # the other storage service it is of; empty for OCI File Storage

    @property
    def split_by(self) -> str:
        """The dimension with the OCID for splitting a query. Empty if a metric never has many streams.

        The dimension is the mount target, or the file system if a file system owns the stream.
        """
        return "mountTargetId" if self.owner in {"behind", "ldap"} else _OWN_DIMENSION.get(self.owner, "")

    def query(self, spelling: str, ids: tuple[str, ...] = ()) -> str:
        """Return the MQL query for one minute.

        Args:
            spelling: the tenancy's spelling of the metric name.
            ids: OCIDs of this part of a split query.
        """
        where: dict[str, str | tuple[str, ...]] = {**self.where}
        if ids:
            where[self.split_by] = ids
        return str(mql.query(spelling, 1, self.statistic, where=where, group_by=self.group_by))


MOST_STREAMS: Final = 2_000
"""Most metric streams in an answer of SummarizeMetricsData. Source: MetricData."""

MOST_POINTS: Final = 100_000
"""Most data points in an answer of SummarizeMetricsData. Source: MetricData."""
