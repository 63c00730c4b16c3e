# SPDX-License-Identifier: Apache-2.0
"""The exporter: `serve`, `once` and `config`, and all that a scrape needs. The tools at the prompt are in `fss_toolbox`."""

__version__ = "0.1.0"
REVISION = "unknown"  # commit of the project, which a release and an image write here
DEFAULT_PORT = 10949  # of the exporter
RUNBOOK = "docs/runbook.md"  # the runbook in the files of the project

# Base of links to the runbook where nobody gave another. A release writes its published runbook here. Without one there is no link.
RUNBOOK_URL = ""

# Ways to sign requests to OCI: API key, compute instance, function, pod of OKE.
AUTH_KINDS = ("config_file", "instance_principal", "resource_principal", "workload_identity")
