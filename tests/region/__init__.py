"""The demo region as tests need it: it checks signatures, and knows faults that only a program must survive."""

from tests.region.strict import Region

from fss_exporter.demo.region import DemoAccount as Account, RegionLimits, Tenancy, large, small

__all__ = ["Account", "Region", "RegionLimits", "Tenancy", "large", "small"]
