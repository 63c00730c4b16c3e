"""How requests to OCI may be signed. In a module of its own, because the flags of the agent name it and load nothing of OCI."""

from typing import Final

AUTH_KINDS: Final = ("config_file", "instance_principal", "resource_principal", "workload_identity")
"""API key, compute instance, function, pod of OKE."""
