"""A loopback OCI region: HTTP, signatures, inventory, metrics, alarms and faults on demand."""

from fss_exporter.demo.region.account import Account
from fss_exporter.demo.region.large import large
from fss_exporter.demo.region.metric_details import Limits
from fss_exporter.demo.region.service import Region
from fss_exporter.demo.region.small import small
from fss_exporter.demo.region.tenancy import Tenancy

__all__ = ["Account", "Limits", "Region", "Tenancy", "large", "small"]
