"""A clock that this process shares with the pollers under trial. It runs six times as fast, so that a minute of OCI takes ten seconds."""

import mmap
import struct
import time
from pathlib import Path

SPEED = 6.0

_FIELDS = ("origin", "began", "step", "end")  # doubles, in this order
_SIZE = 8


class FastClock:
    """Epoch seconds of OCI, and of a host whose clock may be wrong.

    Args:
        file: what the processes share. `make` writes it.
    """

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._shared = mmap.mmap(opened.fileno(), _SIZE * len(_FIELDS))

    @classmethod
    def make(cls, file: Path, origin: float) -> "FastClock":
        """A clock that begins now at `origin`, epoch seconds."""
        file.write_bytes(struct.pack("4d", origin, time.monotonic(), 0.0, float("inf")))
        return cls(file)

    def of_oci(self) -> float:
        """Epoch seconds, as OCI has them."""
        passed = (time.monotonic() - self._value("began")) * SPEED
        return min(self._value("origin") + passed, self._value("end"))

    def of_host(self) -> float:
        """Epoch seconds, as the hosts of the pollers have them."""
        return self.of_oci() + self._value("step")

    def set_wrong_by(self, seconds: float) -> None:
        """Set the clocks of the hosts, from now on."""
        self._set("step", seconds)

    def stop(self) -> None:
        """Let no further second pass."""
        self._set("end", self.of_oci())

    def _value(self, name: str) -> float:
        (value,) = struct.unpack_from("d", self._shared, _SIZE * _FIELDS.index(name))
        return float(value)

    def _set(self, name: str, value: float) -> None:
        struct.pack_into("d", self._shared, _SIZE * _FIELDS.index(name), value)
