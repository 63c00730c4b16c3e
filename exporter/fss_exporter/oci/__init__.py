# SPDX-License-Identifier: Apache-2.0
"""OCI: inventory and Monitoring as one frozen snapshot for each region, and alarms."""
