# SPDX-License-Identifier: Apache-2.0
"""`python -m fss_exporter` and the `fss-exporter` script."""

import os
import signal
import sys


def main() -> None:
    """Run the command."""
    if sys.argv[1:2] == ["serve"]:
        # A reload during the start must not end the exporter. `serve` reads the configuration after this line.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        # Before `serve` runs there is nothing to take down. As process 1 of a container it would not see a signal without a handler.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: os._exit(0))
    from fss_exporter.cli import main as command  # noqa: PLC0415  # the import takes most of the start

    command.main()


if __name__ == "__main__":
    main()
