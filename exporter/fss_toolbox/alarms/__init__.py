"""OCI alarms: the pack as files, the wanted alarms, the existing alarms, and the steps between them."""
