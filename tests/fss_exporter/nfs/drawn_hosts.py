"""Hosts that are drawn by chance: what the kernel's files say from second to second, with all that can happen to mounts."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.fss_exporter.nfs.records import OPTIONS, mountinfo

_V3: Final = "NULL GETATTR SETATTR LOOKUP ACCESS READ WRITE CREATE REMOVE READDIRPLUS FSINFO COMMIT".split()
_V4: Final = "NULL READ WRITE COMMIT OPEN CLOSE GETATTR LOOKUP REMOVE SEQUENCE".split()
_COLUMNS: Final = 9
_LONGEST_TICK: Final = 14.0

_TRANSPORTS: Final = {
    "tcp": "tcp 800 1 {connects} 0 {idle} {sends} {receives} 0 0 0 2 0 0",
    "udp": "udp 800 1 {sends} {receives} 0 0 0 2 0 0",
}


class Second(NamedTuple):
    """What a reading finds."""

    at: float  # begin of the reading, seconds
    until: float
    mountinfo: str
    mountstats: bytes
    hidden_mountinfo: str  # mounts that only another namespace has
    hidden_mountstats: bytes
    started_calls: tuple[int, ...] | None
    is_looked_at: bool  # whether a scrape comes after the reading


@dataclass
class _Mount:
    number: str
    address: str
    export: str
    chance: random.Random
    is_hidden: bool = False
    version: str = "3"
    protocol: str = "tcp"
    columns: int = _COLUMNS
    age: float = 0.0
    rows: dict[str, list[int]] = field(default_factory=dict)
    payload: list[int] = field(default_factory=lambda: [0, 0])
    revalidations: int = 0
    locks: int = 0
    delays: int = 0
    connects: int = 1
    idle: int = 0
    ended: int = 0  # calls, for `/proc/net/rpc/nfs`

    def __post_init__(self) -> None:
        names = _V4 if self.version.startswith("4") else _V3
        self.rows = {name: [0] * _COLUMNS for name in names}

    def work(self, server: "_Server") -> None:
        """Let a second pass in which some calls end, or none."""
        self.idle += 1
        if self.chance.random() < 0.3:
            return
        if server.is_silent:
            self.revalidations += self.chance.randrange(2)
            server.sends += self.chance.randrange(2)
            self.connects += self.chance.random() < 0.1
            return
        self.idle = 0
        for name in self.chance.sample(list(self.rows), self.chance.randint(1, len(self.rows))):
            self._call(name, self.chance.choice((1, 1, 3, 40, 900)), server)

    def _call(self, name: str, calls: int, server: "_Server") -> None:
        chance, row = self.chance, self.rows[name]
        again = chance.randrange(4) if chance.random() < 0.1 else 0
        failed = chance.randint(0, calls) if chance.random() < 0.15 else 0
        size = chance.choice((0, 512, 4096, 32768, 32769, 1048576))
        payload = calls * size if name in {"READ", "WRITE"} else 0
        sent = 120 * (calls + again) + (payload if name == "WRITE" else 0)
        came = 128 * calls + (payload if name == "READ" else 0)
        rtt = chance.randrange(30 * calls)
        queue = chance.randrange(3 * calls)
        grown = (calls, calls + again, again > 2, sent, came, queue, rtt, rtt + queue, failed)
        self.rows[name] = [has + more for has, more in zip(row, grown, strict=True)]
        server.sends += calls + again
        server.receives += calls
        self.ended += calls if name != "NULL" else 0
        if name == "GETATTR":
            self.revalidations += calls
        if name in {"READ", "WRITE"}:
            self.payload[name == "WRITE"] += payload
        self.locks += chance.random() < 0.2
        self.delays += chance.randrange(failed + 1)

    def fall(self) -> None:
        """Lose counts, which no kernel does to a mount that lives."""
        self.rows = {name: [number // 2 for number in row] for name, row in self.rows.items()}

    @property
    def options(self) -> str:
        return OPTIONS.replace("vers=3", f"vers={self.version}").replace("proto=tcp", f"proto={self.protocol}")

    @property
    def names(self) -> dict[str, str]:
        fstype = "nfs4" if self.version.startswith("4") else "nfs"
        return {"device": f"{self.address}:{self.export}", "mount_point": f"/mnt{self.export}", "fstype": fstype}

    def record(self, server: "_Server") -> str:
        names, line = self.names, _TRANSPORTS[self.protocol]
        xprt = line.format(connects=self.connects, idle=self.idle, sends=server.sends, receives=server.receives)
        events = [self.revalidations, *[7] * 15, self.locks, *[0] * 7, self.delays, 0, 0]
        lines = [
            f"device {names['device']} mounted on {names['mount_point']} with fstype {names['fstype']} statvers=1.1",
            f"\topts:\t{self.options}",
            f"\tage:\t{int(self.age)}",
            "\tcaps:\tcaps=0x3fc7,wtmult=512,dtsize=1048576,bsize=0,namlen=255",
            f"\tevents:\t{' '.join(map(str, events))} ",
            f"\tbytes:\t0 0 0 0 {self.payload[0]} {self.payload[1]} 0 0 ",
            f"\txprt:\t{xprt}",
            "\tper-op statistics",
            *(f"\t{name:>12}: {' '.join(map(str, row[: self.columns]))}" for name, row in self.rows.items()),
        ]
        return "\n".join(lines) + "\n\n"


@dataclass
class _Server:
    sends: int = 0
    receives: int = 0
    is_silent: bool = False


class DrawnHost:
    """A host with some mounts. The same seed draws the same host."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.servers = {f"10.0.{net}.{host}": _Server() for net in (0, 1) for host in (3, 4)}
        self.mounts: list[_Mount] = []
        self.counts_calls = self.chance.random() < 0.7
        self.started = 0
        self.births = 0
        for _ in range(self.chance.randint(1, 3)):
            self._birth(self.chance.choice((0.0, 5.0, 9000.0)))

    def seconds(self, count: int) -> Iterator[Second]:
        """Yield what so many readings find."""
        chance, at = self.chance, 100.0
        for _ in range(count):
            passed = chance.choice((1.0, 1.0, 1.0, 1.0, 1.01, 1.3, 3.0, _LONGEST_TICK))
            at += passed
            for mount in self.mounts:
                mount.age += passed
            self._happen()
            for mount in self.mounts:
                before = mount.ended
                mount.work(self.servers[mount.address])
                self.started += mount.ended - before
            self.started += chance.randrange(3)
            yield self._second(at, at + chance.choice((0.0, 0.0, 0.01, 0.4)))

    def _second(self, at: float, until: float) -> Second:
        chance = self.chance
        texts = {is_hidden: self._texts(is_hidden=is_hidden) for is_hidden in (False, True)}
        calls = (0, self.started % 2**32) if self.counts_calls and chance.random() < 0.98 else None
        return Second(at, until, *texts[False], *texts[True], calls, chance.random() < 0.15)

    def _texts(self, *, is_hidden: bool) -> tuple[str, bytes]:
        mounts = [mount for mount in self.mounts if mount.is_hidden is is_hidden]
        info = "".join(
            mountinfo(superblock=mount.number, address=mount.address, options=mount.options, **mount.names)  # type: ignore[arg-type]
            for mount in mounts
        )
        records = [self._perhaps_damaged(mount.record(self.servers[mount.address])) for mount in mounts]
        return info, "".join(records).encode()

    def _perhaps_damaged(self, record: str) -> str:
        lines, chance = record.split("\n"), self.chance.random()
        if chance < 0.02:  # cut off behind some operations
            return "\n".join(lines[: self.chance.randint(len(lines) - 6, len(lines) - 3)]) + "\n\n"
        if chance < 0.03:
            return record.replace("\tbytes:\t", "\tbytes:\tx")
        if chance < 0.04:
            return record.replace("COMMIT: ", "COMMIT: 1_0 ")
        if chance < 0.05:
            return record.replace("\tevents:", "\tnext-year:\t1 x\n\tevents:")
        return record

    def _happen(self) -> None:
        chance = self.chance
        for server in self.servers.values():
            if chance.random() < (0.15 if server.is_silent else 0.02):
                server.is_silent = not server.is_silent
        for mount in list(self.mounts):
            what = chance.random()
            if what < 0.01:
                self.mounts.remove(mount)
            elif what < 0.015:
                mount.fall()
            elif what < 0.02:
                self.mounts.remove(mount)
                self._birth(chance.random(), number=mount.number, export=mount.export)
            elif what < 0.025:
                mount.is_hidden = not mount.is_hidden
        if chance.random() < 0.03:
            self._birth(chance.choice((0.0, 0.5, 50.0)))

    def _birth(self, age: float, number: str = "", export: str = "") -> None:
        chance = self.chance
        self.births += 1
        self.mounts.append(
            _Mount(
                number or f"0:{40 + self.births}",
                chance.choice(list(self.servers)),
                export or f"/{chance.choice('abc')}{self.births % 4}",
                chance,
                is_hidden=chance.random() < 0.2,
                version=chance.choice(("3", "3", "3", "4.1")),
                protocol=chance.choice(("tcp", "tcp", "tcp", "udp")),
                columns=chance.choice((_COLUMNS, _COLUMNS, _COLUMNS, 8)),
                age=age,
            )
        )
