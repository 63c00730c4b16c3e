"""The one place that knows the OCI SDK. What leaves it is plain parsed JSON and this project's own errors."""

from fss_exporter.oci.client.credentials import Access, Credentials, read_credentials
from fss_exporter.oci.client.regions import region_of
from fss_exporter.oci.client.session import Answer, Reach, Record, Session

__all__ = ["Access", "Answer", "Credentials", "Reach", "Record", "Session", "read_credentials", "region_of"]
