"""Names of the ways to sign requests to OCI. The agent's flags need the names without loading anything of OCI."""

from typing import Final

AUTH_KINDS: Final = ("config_file", "instance_principal", "resource_principal", "workload_identity")
"""API key, compute instance, function, pod of OKE."""
