"""The demo region as tests need it: it checks signatures, and knows faults that only a program must survive."""

from dataclasses import replace
from functools import cache

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from tests.region.alarms_api import RegionLimits
from tests.region.strict import Region

from fss_toolbox.demo.region import DemoAccount as Account, Tenancy, large, small

__all__ = ["Account", "Region", "RegionLimits", "Tenancy", "large", "shared_account", "small"]


@cache
def shared_account() -> Account:
    """The account of the small tenancy, for all tests. Its short key signs a request in a fifth of the time."""
    key = generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505  # protects nothing
    return replace(Account.generate(small().id), key=key)
