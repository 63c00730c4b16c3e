"""Write dashboards/*.json: `python -m tools.generate.dashboards`."""
