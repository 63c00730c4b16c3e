"""Two look-ups of the Networking API, made with the SDK's base client.

The generated client comes with every model of compute, block storage and networking: 21 MiB resident (SDK 2.189) for two GETs. A test
holds this one to it.
"""

from collections.abc import Mapping
from typing import Any

from oci.base_client import BaseClient

_HEADERS = {"accept": "application/json", "content-type": "application/json"}


class NetworkClient:
    """Stands in for `oci.core.VirtualNetworkClient`; arguments as there.

    Args:
        config: the SDK's configuration.
        signer: the SDK's signer.
        options: of `BaseClient`.
    """

    def __init__(self, config: Mapping[str, Any], *, signer: Any, **options: Any) -> None:
        self.base_client = BaseClient(
            "virtual_network",
            config,
            signer,
            {},
            regional_client=True,
            base_path="/20160918",
            service_endpoint_template="https://iaas.{region}.{secondLevelDomain}",
            service_endpoint_template_per_realm={},
            endpoint_service_name="iaas",
            **options,
        )

    def get_private_ip(self, private_ip_id: str, retry_strategy: object = None) -> Any:  # noqa: ARG002  # none here
        """The private IP; the caller tries again itself."""
        return self._get("get_private_ip", "/privateIps/{privateIpId}", privateIpId=private_ip_id)

    def get_subnet(self, subnet_id: str, retry_strategy: object = None) -> Any:  # noqa: ARG002  # none here
        """The subnet; the caller tries again itself."""
        return self._get("get_subnet", "/subnets/{subnetId}", subnetId=subnet_id)

    def _get(self, operation: str, path: str, **ids: str) -> Any:
        return self.base_client.call_api(
            resource_path=path,
            method="GET",
            path_params=ids,
            header_params=dict(_HEADERS),
            response_type="object",
            operation_name=operation,
        )
