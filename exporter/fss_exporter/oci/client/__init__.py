# SPDX-License-Identifier: Apache-2.0
"""The only package with types of the OCI SDK. Callers get frozen records, parsed JSON and this project's errors."""

from fss_exporter.oci.client.credentials import (
    Credentials as Credentials,
    read_credentials as read_credentials,
    region_of as region_of,
    regions_of as regions_of,
)
from fss_exporter.oci.client.sdk_client import SdkClient as SdkClient
from fss_exporter.oci.client.session import Session as Session
