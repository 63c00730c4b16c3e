"""The package of the OCI SDK. Answers leave the package as frozen records or parsed JSON, failures as this project's
errors.
"""

from fss_exporter.oci.client.credentials import Access, Credentials, read_credentials, region_of
from fss_exporter.oci.client.sdk_client import SdkClient
from fss_exporter.oci.client.session import Answer, Reach, Record, Session

__all__ = [
    "Access",
    "Answer",
    "Credentials",
    "Reach",
    "Record",
    "SdkClient",
    "Session",
    "read_credentials",
    "region_of",
]
