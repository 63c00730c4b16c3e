# SPDX-License-Identifier: Apache-2.0
"""`python -m fss_exporter` and the `fss-exporter` script."""

import os
import signal
import sys
from contextlib import suppress


def _tell_systemd(address: str) -> None:
    """Tell systemd that a reload does no harm from now on (sd_notify(3)). A unit of `Type=notify` waits with one until then."""
    import socket  # noqa: PLC0415  # of all commands only `serve` in such a unit needs it here

    # Without the word systemd gives up the start, and says so.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.sendto(b"READY=1", address.replace("@", "\0", 1) if address.startswith("@") else address)


def main() -> None:
    """Run the command."""
    if sys.argv[1:2] == ["serve"]:
        # A reload during the start must not end the exporter. `serve` reads the configuration after this line.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        # Before `serve` runs there is nothing to take down. As process 1 of a container it would not see a signal without a handler.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: os._exit(0))
        if "NOTIFY_SOCKET" in os.environ:
            _tell_systemd(os.environ["NOTIFY_SOCKET"])
    from fss_exporter.cli import main as command  # noqa: PLC0415  # the import takes most of the start

    command.main()


if __name__ == "__main__":
    main()
