"""Every exported metric, declared once.

A metric is a row with name, type, labels, unit, HELP and origin of the number. Collectors build families only through
`family()`. The tests compare rules, dashboards, alarms and documents with the rows, in both directions.
"""

from fss_exporter.catalogue.client import CLIENT
from fss_exporter.catalogue.exact_mode_metrics import EXACT
from fss_exporter.catalogue.exporter import EXPORTER
from fss_exporter.catalogue.metric import Family, Kind, Metric, Series, family
from fss_exporter.catalogue.oci_metrics import CLOUD

CATALOGUE: dict[str, Metric] = {metric.name: metric for metric in (*CLIENT, *EXACT, *CLOUD, *EXPORTER)}

__all__ = ["CATALOGUE", "CLIENT", "CLOUD", "EXACT", "EXPORTER", "Family", "Kind", "Metric", "Series", "family"]
