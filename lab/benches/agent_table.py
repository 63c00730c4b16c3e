"""The table of an agent beside node_exporter in docs/performance.md, from the figures of some runs. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from tools.generate.written_part import rewritten

# CPU of a minute with scrapes each 15 s and each 60 s, size of the answer, memory, CPU of the start.
Figures = tuple[float, float, float, float, float]
COLUMNS = (
    ("CPU a minute, scraped each 15 s", "ms"),
    ("CPU a minute, scraped each 60 s", "ms"),
    ("answer, gzip", "kB"),
    ("memory", "MiB"),
    ("CPU of the start", "ms"),
)
MARKS = ("<!-- agent: written by make bench-agent -->\n", "<!-- end of agent -->")


def table(runs: Mapping[int, Sequence[tuple[Figures, Figures]]]) -> Iterator[str]:
    """Lines of the table: a range over the runs. `runs` has the figures of the agent and of node_exporter by number of mounts."""
    yield f"| mounts | | {' | '.join(name for name, _ in COLUMNS)} |"
    yield f"|---|---|{'---|' * len(COLUMNS)}"
    for mounts, pairs in runs.items():
        agents, others = zip(*pairs, strict=True)
        ratios = [tuple(mine / other for mine, other in zip(*pair, strict=True)) for pair in pairs]
        for head, rows in ((f"| {mounts:,} | agent", agents), ("| | node_exporter", others)):
            cells = (
                f"{span(values)} {unit}" for values, (_, unit) in zip(zip(*rows, strict=True), COLUMNS, strict=True)
            )
            yield f"{head} | {' | '.join(cells)} |"
        yield f"| | ratio | {' | '.join(span(values) for values in zip(*ratios, strict=True))} |"


def span(values: Sequence[float]) -> str:
    """The least and the greatest value with two figures or all whole ones, as one number where both are written alike."""
    least, greatest = (f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in (min(values), max(values)))
    return least if least == greatest else f"{least} to {greatest}"


def with_table(page: str, said: str, runs: Mapping[int, Sequence[tuple[Figures, Figures]]]) -> str:
    """The page with the table of these runs, below a sentence about them."""
    return rewritten(page, *MARKS, "\n".join((said, "", *table(runs), "")))
