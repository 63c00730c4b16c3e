"""OCI: inventory and Monitoring as one frozen snapshot for each region, and alarms."""
