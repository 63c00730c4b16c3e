"""The SDK's Monitoring client, but for the one answer that is large: that is decoded by who asks."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import oci.monitoring
from oci.base_client import BYTES_RESPONSE_TYPE
from oci.response import Response


class MonitoringClient(oci.monitoring.MonitoringClient):  # type: ignore[misc]  # the SDK has no types
    """Stands in for `oci.monitoring.MonitoringClient`; arguments as there."""

    def summarize_metrics_data(
        self,
        compartment_id: str,
        details: Mapping[str, Any],
        *,
        decode: Callable[[bytes], Any] = json.loads,
        compartment_id_in_subtree: bool = False,
        retry_strategy: object = None,  # noqa: ARG002  # none here: the caller tries again itself
    ) -> Any:
        """An answer; its `data` is text where `decode` raises ValueError, as the SDK has it where it finds no JSON."""
        answer = self.base_client.call_api(
            resource_path="/metrics/actions/summarizeMetricsData",
            method="POST",
            query_params={"compartmentId": compartment_id}
            | ({"compartmentIdInSubtree": True} if compartment_id_in_subtree else {}),
            header_params={"accept": "application/json", "content-type": "application/json"},
            body=details,
            response_type=BYTES_RESPONSE_TYPE,
            operation_name="summarize_metrics_data",
        )
        try:
            data = decode(answer.data)
        except ValueError:
            data = answer.data.decode(errors="replace")
        return Response(answer.status, answer.headers, data, answer.request)
