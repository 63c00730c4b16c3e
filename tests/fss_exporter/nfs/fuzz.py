"""Damaged mountstats and mountinfo through tick and scrape: `make fuzz` runs a million inputs.

A host has two mounts. The text of the first is damaged before each tick, the second works on as always. No input may
raise, no counter may go back, and the second mount must count exactly what it did.
"""

import argparse
import random
import time
from collections.abc import Iterator

from tests.exposition_text import collected
from tests.fss_exporter.nfs.records import Names, mountinfo, mountstats

from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import MountstatsParser, decode
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.nfs.ticker import Ticker

WORKS: Names = {"device": "10.9.9.9:/works", "mount_point": "/mnt/works"}
NUMBERS = (
    b"", b"-1", b"+1", b"1_0", b"0", b"18446744073709551615", b"18446744073709551616", b"9223372036854775808",
    b"9" * 40, b"9" * 4301, "٣".encode(), b"1e9", b"0x10", b"NaN",
)  # fmt: skip
WORDS = (
    b"device ",
    b"\n",
    b"\t",
    b" ",
    b":",
    b",",
    b"=",
    b"\x00",
    b"\xff",
    b"\\040",
    b"xprt:",
    b"age:",
    b"opts:",
    b"READ:",
)


def damaged(text: bytes, chance: random.Random) -> bytes:
    """A text with one to three damages."""
    for _ in range(chance.randint(1, 3)):
        at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        kind = chance.randrange(7)
        if kind == 0:
            text = text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + text[min(end, at + 40) :]
        elif kind == 2:
            text = text[:at] + chance.choice(WORDS) + text[at:]
        elif kind == 3:
            text = text[:at] + text[at:end] + text[at:]
        elif kind == 4:
            text = text[:at]
        else:
            text = _other_number(text, chance)
    return text


def _other_number(text: bytes, chance: random.Random) -> bytes:
    words = text.split(b" ")
    numbers = [at for at, word in enumerate(words) if word.isdigit()]
    if numbers:
        words[chance.choice(numbers)] = (
            chance.choice(NUMBERS) if chance.random() < 0.7 else str(chance.getrandbits(64)).encode()
        )
    return b" ".join(words)


class Host:
    """Two mounts; what the first one says is damaged."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.second = 0
        self._damage = 0.0
        self._parser = MountstatsParser()

    def read(self) -> Reading:
        """The next second's look."""
        self.second += 1
        age = 1000 + self.second
        counts = {"READ": 3 * self.second, "LOOKUP": 2 * self.second}
        stats = mountstats(counts, age=age, read_bytes=4096 * self.second).encode().rstrip(b"\n")
        info = mountinfo().encode().rstrip(b"\n")
        if self.chance.random() < 0.9:
            if self.chance.random() < 0.5:  # else the damage of the last time comes again, which a parser may learn
                self._damage = self.chance.random()
            stats = damaged(stats, random.Random(self._damage))
        if self.chance.random() < 0.2:
            info = damaged(info, self.chance)
        works = mountstats({"READ": self.second}, age=age, **WORKS).encode()
        mounts = mountinfo(superblock="0:99", address="10.9.9.9", **WORKS).encode()
        looked = self._parser.parse(stats + b"\n\n" + works)
        return join(looked, parse_mountinfo(decode(info + b"\n" + mounts)))


def series(collector: NfsCollector) -> dict[str, float]:
    """Every counter by the text of its series."""
    return {
        f"{sample.name}{sample.labels}": sample.value
        for family in collected(collector)
        if family.type == "counter"
        for sample in family.samples
    }


def run(inputs: int, seed: int) -> Iterator[int]:
    """Feed so many inputs; yields the number fed after each.

    Raises:
        AssertionError: a counter went back, or the second mount counted wrongly. The message has the input's number.
    """
    chance = random.Random(seed)
    host, now = Host(chance), [0.0]
    ticker = Ticker(host.read, 1.0, lambda: now[0], accounts=Accounts())
    collector = NfsCollector(ticker)
    before: dict[str, float] = {}
    for number in range(1, inputs + 1):
        now[0] += 1.0
        ticker._read_and_account()
        if number % 5 == 0 or chance.random() < 0.1:
            after = series(collector)
            back = [text for text, value in after.items() if value < before.get(text, value)]
            assert not back, f"input {number}: went back: {back[:3]}"
            before = after
        works = [totals for key, totals in ticker.accounts.mounts.items() if key.export == "/works"]
        assert [work.operations["READ"].operations for work in works] == [number - 1], f"input {number}"
        assert sum(operation.operations for operation in works[0].operations.values()) == number - 1, f"input {number}"
        yield number


def main() -> None:
    """Run from the prompt."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--inputs", type=int, default=1_000_000)
    flags.add_argument("--seed", type=int, default=1)
    options = flags.parse_args()
    began = time.monotonic()
    for number in run(options.inputs, options.seed):
        if number % 10_000 == 0:
            print(f"{number:,} inputs, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
