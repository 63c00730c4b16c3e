"""`fss-exporter` with the shared clock: `python -m lab.restarts.poller CLOCK serve ...`. It looks at its lease ten times as often."""

import sys
import time
from pathlib import Path

from lab.restarts.clock import FastClock


def main() -> int:
    time.time = FastClock(
        Path(sys.argv[1])
    ).of_host  # before the exporter is imported, because it takes the function as a default

    from fss_exporter.cli.main import run
    from fss_exporter.oci.polling import lease, poller

    poller.RENEW_SECONDS = 0.5  # type: ignore[attr-defined]  # its own name for the constant of `lease`
    lease.SILENT_SECONDS = 5.0  # type: ignore[misc]
    return run(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
