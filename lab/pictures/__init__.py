"""Draw the dashboards without a Grafana server, in situations of the demo."""
