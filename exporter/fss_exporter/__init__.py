"""Prometheus exporter and tools for OCI File Storage mount targets."""

__version__ = "0.2.0"
