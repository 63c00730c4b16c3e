"""A loopback OCI region: HTTP, inventory, metrics, alarms and faults on demand."""

from fss_exporter.demo.region.account import Account
from fss_exporter.demo.region.messages import RegionLimits
from fss_exporter.demo.region.service import Region
from fss_exporter.demo.region.tenancies import large, small
from fss_exporter.demo.region.tenancy import Tenancy

__all__ = ["Account", "Region", "RegionLimits", "Tenancy", "large", "small"]
