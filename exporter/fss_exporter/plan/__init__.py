"""Planning: a workload, stated or recorded, and what it needs of a mount target or of another storage service."""
