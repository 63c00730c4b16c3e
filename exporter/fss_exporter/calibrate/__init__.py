"""Calibration: measure in a tenancy what each NFS request costs a mount target, and compare with the cost table."""
