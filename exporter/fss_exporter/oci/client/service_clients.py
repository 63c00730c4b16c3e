"""Listings of other storage services, made with the SDK's base client.

As in `network.py`: the generated clients bring every model of their services for one GET each. A test holds these to them.
"""

from collections.abc import Mapping
from typing import Any

from oci.base_client import BaseClient

_HEADERS = {"accept": "application/json", "content-type": "application/json"}


class _Listings:
    def __init__(self, name: str, base_path: str, template: str, config: Mapping[str, Any], **options: Any) -> None:
        signer = options.pop("signer")
        self.base_client = BaseClient(
            name,
            config,
            signer,
            {},
            regional_client=True,
            base_path=base_path,
            service_endpoint_template=template,
            service_endpoint_template_per_realm={},
            **options,
        )

    def _list(self, operation: str, path: str, compartment_id: str, page: Mapping[str, Any]) -> Any:
        wanted = {"compartmentId": compartment_id, "limit": page.get("limit"), "page": page.get("page")}
        return self.base_client.call_api(
            resource_path=path,
            method="GET",
            query_params={name: value for name, value in wanted.items() if value is not None},
            header_params=dict(_HEADERS),
            response_type="object",
            operation_name=operation,
        )


class LustreClient(_Listings):
    """Stands in for `oci.lustre_file_storage.LustreFileStorageClient`; arguments as there."""

    def __init__(self, config: Mapping[str, Any], **options: Any) -> None:
        template = "https://lustre-file-storage.{region}.oci.{secondLevelDomain}"
        super().__init__("lustre_file_storage", "/20250228", template, config, **options)

    def list_lustre_file_systems(self, compartment_id: str, retry_strategy: object = None, **page: Any) -> Any:  # noqa: ARG002  # none here
        """One page of file systems; the caller tries again itself."""
        return self._list("list_lustre_file_systems", "/lustreFileSystems", compartment_id, page)


class BlockStorageClient(_Listings):
    """Stands in for `oci.core.BlockstorageClient`; arguments as there."""

    def __init__(self, config: Mapping[str, Any], **options: Any) -> None:
        options["endpoint_service_name"] = "iaas"
        super().__init__("blockstorage", "/20160918", "https://iaas.{region}.{secondLevelDomain}", config, **options)

    def list_volumes(self, compartment_id: str, retry_strategy: object = None, **page: Any) -> Any:  # noqa: ARG002  # none here
        """One page of block volumes; the caller tries again itself."""
        return self._list("list_volumes", "/volumes", compartment_id, page)

    def list_boot_volumes(self, compartment_id: str, retry_strategy: object = None, **page: Any) -> Any:  # noqa: ARG002  # none here
        """One page of boot volumes; the caller tries again itself."""
        return self._list("list_boot_volumes", "/bootVolumes", compartment_id, page)
