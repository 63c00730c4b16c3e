"""Draw the dashboards without a Grafana server: `python -m tools.dashboard_pictures`."""
