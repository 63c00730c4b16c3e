"""HTTP: metrics, status page, health, TLS and users."""
