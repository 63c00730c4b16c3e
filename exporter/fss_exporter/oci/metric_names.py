"""Which metrics a tenancy has, and how it spells them.

The documentation and the service spell some names differently (`bySize`, `BySize`), so names are matched without regard to case
and sent back as they were found. Where two spellings are remembered, as ListMetrics does for 90 days, the one that last
brought a new minute is asked first and the next one when it falls silent.
"""

from collections.abc import Iterable, Mapping

from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.oci_metric import OciMetric


class MetricNames:
    """The spellings of one region.

    Args:
        metrics: by documented name.
    """

    def __init__(self, metrics: Mapping[str, OciMetric] = METRICS) -> None:
        self._documented = {name.lower(): name for name in metrics}
        self._found: dict[str, list[str]] | None = None

    def learn(self, listed: Iterable[str]) -> None:
        """Take the names ListMetrics gave; the spelling in use stays in use while it is among them."""
        found: dict[str, list[str]] = {}
        for spelling in sorted(set(listed)):
            name = self._documented.get(spelling.lower())
            if name is not None:
                found.setdefault(name, []).append(spelling)
        for name, spellings in (self._found or {}).items():
            known = found.get(name, [])
            if spellings[0] in known:
                found[name] = [spellings[0], *(spelling for spelling in known if spelling != spellings[0])]
        self._found = found

    def spelling(self, metric: OciMetric) -> str | None:
        """What to ask for; None where the tenancy does not have the metric. Documented names stand until others are known."""
        if self._found is None:
            return None if metric.discovered_only else metric.name
        spellings = self._found.get(metric.name)
        return spellings[0] if spellings else None

    def fell_silent(self, metric: OciMetric) -> None:
        """The spelling in use brought nothing new: the next one, if there is one, has its turn."""
        spellings = (self._found or {}).get(metric.name, [])
        if len(spellings) > 1:
            spellings.append(spellings.pop(0))
