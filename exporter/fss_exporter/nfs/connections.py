"""What went over the connections to each server."""

from fss_exporter.nfs.superblocks import Reading


class Connections:
    """Transmissions added up since the first reading.

    Connections belong to the server and stand in the record of each of its superblocks: they are counted once.

    Attributes:
        sends: by address.
        receives: by address.
    """

    def __init__(self) -> None:
        self.sends: dict[str, int] = {}
        self.receives: dict[str, int] = {}
        self._last: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, reading: Reading) -> None:
        """Add what happened since the last reading."""
        seen: dict[tuple[str, str], tuple[int, int]] = {}
        for superblock in reading.superblocks:
            server = (superblock.key.address, superblock.record.options.get("vers", ""))
            lines = superblock.record.transports
            if server not in seen and any(line.receives is not None for line in lines):
                seen[server] = (sum(line.sends or 0 for line in lines), sum(line.receives or 0 for line in lines))
        for server, (sends, receives) in seen.items():
            address = server[0]
            old_sends, old_receives = self._last.get(server, (sends, receives))
            self.sends[address] = self.sends.get(address, 0) + max(0, sends - old_sends)
            self.receives[address] = self.receives.get(address, 0) + max(0, receives - old_receives)
        self._last = seen
