"""The package of the OCI SDK. Answers leave the package as frozen records or parsed JSON, failures as this project's
errors.
"""

from fss_exporter.oci.client.credentials import Credentials, read_credentials, region_of
from fss_exporter.oci.client.sdk_client import SdkClient
from fss_exporter.oci.client.session import Answer, Record, Session

__all__ = [
    "Answer",
    "Credentials",
    "Record",
    "SdkClient",
    "Session",
    "read_credentials",
    "region_of",
]
