"""Write the ceilings of all services into docs/services.md, from the table of the model: `make pages`."""

from collections.abc import Iterator
from pathlib import Path

from tools.generate.written_part import rewritten

from fss_exporter.model.service_table import GB, GIB, SERVICES, TB, CapacityCeiling

PAGE = Path(__file__).parents[2] / "docs/services.md"
# Levels of block volumes that a sentence of the page describes in place of a row.
BETWEEN = {f"vpu-{vpus}" for vpus in range(40, 120, 10)}

MARKS = ("<!-- kinds: written by make pages -->\n", "<!-- end of kinds -->")
UNITS = {1000 * GIB: "1,000 GiB", TB: "TB", GB: "GB"}


def _amount(value: float, unit: str) -> str:
    if unit == "B/s" and not value % (1 << 20):
        return f"{value / (1 << 20):,g} MiB/s"
    return f"{value / 1e6:,g} MB/s" if unit == "B/s" else f"{value:,g} IOPS"


def _line(line: CapacityCeiling | None, unit: str) -> str:
    if line is None:
        return ""
    most = "" if line.most is None else _amount(line.most, unit)
    if line.per_unit is None:
        return most
    grows = f"{_amount(line.per_unit, unit)} per {UNITS[int(line.unit_bytes)]}"
    return f"{grows}, up to {most}" if most else grows


def rows() -> Iterator[str]:
    """The table of ceilings, and below it the sources that its last column numbers."""
    numbers: dict[str, int] = {}
    yield "| service | type | IOPS | bandwidth | source |"
    yield "|---|---|---|---|---|"
    for service in SERVICES.values():
        for kind in (kind for kind in service.kinds.values() if kind.name not in BETWEEN):
            lines = [line for line in (kind.iops, kind.both, kind.read, kind.write) if line is not None]
            each = [
                text
                for text, line in (("{} both", kind.both), ("{} read", kind.read), ("{} written", kind.write))
                if line is not None
                for text in [text.format(_line(line, "B/s"))]
            ]
            sources = dict.fromkeys(f"{line.source.document} ({line.source.dated})" for line in lines)
            if kind.remark:
                sources[f"{kind.remark[:1].upper()}{kind.remark[1:]}"] = None
            cited = ", ".join(str(numbers.setdefault(source, len(numbers) + 1)) for source in sources)
            yield f"| `{service.name}` | `{kind.name}` | {_line(kind.iops, 'IOPS')} | {', '.join(each)} | {cited} |"
    yield ""
    yield from (f"{number}. {source}" for source, number in numbers.items())


def with_table(text: str) -> str:
    """Return the page with the table of today."""
    return rewritten(text, *MARKS, "\n".join((*rows(), "")))


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
