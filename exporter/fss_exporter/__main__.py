"""`python -m fss_exporter` is the `fss-exporter` command."""

from fss_exporter.cli.main import main

main()
