"""The demo region as tests need it: it checks signatures, and knows faults that only a program must survive."""

from functools import cache

from tests.region.strict import Region

from fss_exporter.demo.region import DemoAccount as Account, RegionLimits, Tenancy, large, small

__all__ = ["Account", "Region", "RegionLimits", "Tenancy", "large", "shared_account", "small"]


@cache
def shared_account() -> Account:
    """The account of the small tenancy. Its key is made once for all tests, because that takes a while."""
    return Account.generate(small().id)
