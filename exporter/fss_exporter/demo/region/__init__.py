"""A loopback OCI region: HTTP, inventory, metrics, alarms and faults on demand."""

from fss_exporter.demo.region.demo_account import DemoAccount
from fss_exporter.demo.region.demo_tenancy import Tenancy
from fss_exporter.demo.region.loopback_region import Region
from fss_exporter.demo.region.monitoring_api import RegionLimits
from fss_exporter.demo.region.tenancies import large, small

__all__ = ["DemoAccount", "Region", "RegionLimits", "Tenancy", "large", "small"]
