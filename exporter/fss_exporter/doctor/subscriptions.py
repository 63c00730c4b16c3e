"""Find the regions to which the tenancy is subscribed. Any other region refuses every signature, like after a wrong
key.
"""

from collections.abc import Iterable
from typing import Final

from fss_exporter.doctor.account_facts import Subscription, Subscriptions, Tried
from fss_exporter.errors import CloudError
from fss_exporter.oci.cloud_client import RawCalls

OPERATION: Final = "ListRegionSubscriptions"


def ask_subscriptions(sessions: Iterable[RawCalls]) -> Subscriptions:
    """Request the subscriptions of the tenancy from each region, until a region answers."""
    tried: dict[str, Tried] = {}
    for session in sessions:
        try:
            rows = [
                row
                for page in session.pages("identity", "list_region_subscriptions", session.tenancy_id)
                for row in page
                if isinstance(row, dict) and row.get("regionName")
            ]
        except CloudError as error:
            tried[session.region] = Tried.of(error)
            continue
        tried[session.region] = Tried.of(None)
        found = (
            Subscription(str(row["regionName"]), str(row.get("regionKey", "")), str(row.get("status", "")))
            for row in rows
        )
        return Subscriptions(tried, tuple(found))
    return Subscriptions(tried)
