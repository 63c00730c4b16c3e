"""The one place that knows the OCI SDK. Answers leave it as frozen records or parsed JSON, failures as this project's own errors."""

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
