"""The cloud: inventory and Monitoring into one frozen snapshot, and alarms in MQL."""
