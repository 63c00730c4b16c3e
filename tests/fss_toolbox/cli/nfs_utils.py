"""What the tools of nfs-utils 2.6.2 printed about the recordings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OUTPUTS = Path(__file__).parents[2] / "fixtures/nfs-utils"


@dataclass(frozen=True)
class NfsiostatMount:
    """One block of nfsiostat; rates per second, kB with headers, times in milliseconds."""

    mount_point: str
    server_ops: float
    ops: dict[str, float]
    kilobytes: dict[str, float]
    rtt_ms: dict[str, float]
    execute_ms: dict[str, float]
    queue_ms: dict[str, float]


def nfsiostat(scenario: str, *, first: bool = False) -> list[NfsiostatMount]:
    """The second report, which is about the recording, or the first one."""
    blocks = list(_blocks((OUTPUTS / scenario / "nfsiostat.txt").read_text()))
    half = len(blocks) // 2
    return blocks[:half] if first else blocks[half:]


def _blocks(text: str) -> Iterator[NfsiostatMount]:
    for block in re.split(r"(?m)^(?=\S+ mounted on )", text)[1:]:
        lines = block.splitlines()
        kinds = {
            line.split(":")[0]: [float(word) for word in re.sub(r"\(.*?\)", "", lines[number + 1]).split()]
            for number, line in enumerate(lines)
            if line.startswith(("read:", "write:"))
        }
        yield NfsiostatMount(
            mount_point=lines[0].rpartition(" on ")[2].rstrip(":"),
            server_ops=float(lines[3].split()[0]),
            ops={kind: values[0] for kind, values in kinds.items()},
            kilobytes={kind: values[1] for kind, values in kinds.items()},
            rtt_ms={kind: values[4] for kind, values in kinds.items()},
            execute_ms={kind: values[5] for kind, values in kinds.items()},
            queue_ms={kind: values[6] for kind, values in kinds.items()},
        )


@dataclass(frozen=True)
class MountstatsOperation:
    """One operation of mountstats; times in milliseconds."""

    operations: int
    queue_ms: float
    rtt_ms: float
    execute_ms: float


def mountstats(scenario: str) -> dict[str, MountstatsOperation]:
    """Operations of the first mount that is shown."""
    text = (OUTPUTS / scenario / "mountstats.txt").read_text().split("Stats for ")[1]
    matches = re.findall(
        r"(?m)^([A-Z]+):\n\t(\d+) ops .*\n.*\n\tbacklog wait: ([\d.]+) \tRTT: ([\d.]+) \ttotal execute time: ([\d.]+)",
        text,
    )
    return {name: MountstatsOperation(int(ops), *map(float, times)) for name, ops, *times in matches}
