"""Write dashboards/*.json: `python -m tools.dashboards`."""
