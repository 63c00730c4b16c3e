"""Prometheus exporter and tools for OCI File Storage mount targets."""

__version__ = "0.1.0"
DEFAULT_PORT = 10949  # of the exporter
RUNBOOK = "docs/runbook.md"  # name of the runbook in shipped files, because the project has no URL of its own
AUTH_KINDS = ("config_file", "instance_principal", "resource_principal", "workload_identity")
"""Ways to sign requests to OCI: API key, compute instance, function, pod of OKE."""
