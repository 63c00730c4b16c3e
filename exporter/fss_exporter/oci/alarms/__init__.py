"""OCI alarms: the pack as files, what there should be, what there is, and the way from one to the other."""
