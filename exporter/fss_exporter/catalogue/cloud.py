"""What OCI's inventory and Monitoring become."""

from fss_exporter.catalogue.metric import Metric

CLOUD: tuple[Metric, ...] = ()
