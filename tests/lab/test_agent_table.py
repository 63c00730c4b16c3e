"""The table that `make bench-agent` writes into docs/performance.md."""

import pytest
from lab.benches import agent_table, bench_agent


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((131.4, 204.2, 150.0), "131 to 204"),
        ((3.71, 3.74), "3.7"),
        ((0.07, 0.068), "0.068 to 0.07"),
        ((1062.0, 1608.4), "1,062 to 1,608"),
    ],
)
def test_figures_of_several_runs_are_a_range(values: tuple[float, ...], text: str) -> None:
    assert agent_table.span(values) == text


def test_a_ratio_is_that_of_one_run_and_not_of_the_ends_of_two_ranges() -> None:
    slow, fast = (200.0, 100.0, 4.0, 30.0, 150.0), (100.0, 50.0, 4.0, 30.0, 150.0)
    *_, agent, other, ratio = agent_table.table({10: [(slow, slow), (fast, fast)]})

    assert agent == "| 10 | agent | 100 to 200 ms | 50 to 100 ms | 4 kB | 30 MiB | 150 ms |"
    assert other.startswith("| | node_exporter | 100 to 200 ms |")
    assert ratio == "| | ratio | 1 | 1 | 1 | 1 | 1 |"


def test_the_page_has_the_part_that_is_written() -> None:
    page = bench_agent.PAGE.read_text()
    written = page.partition(agent_table.MARKS[0])[2].partition(agent_table.MARKS[1])[0]
    heading, _ = agent_table.table({})

    assert heading in written
    assert agent_table.with_table(page, "", {}).count(heading) == 1


def test_a_bench_says_which_number_of_mounts_takes_too_much_cpu() -> None:
    node_exporter = (100.0, 50.0, 4.0, 30.0, 150.0)
    costly, cheap = ((100.0 * ratio, 50.0, 4.0, 30.0, 150.0) for ratio in (2.5, 1.5))

    assert bench_agent.too_costly({10: [(cheap, node_exporter), (costly, node_exporter), (cheap, node_exporter)]}) == []
    assert bench_agent.too_costly({10: [(costly, node_exporter)]}) == [
        "10 mounts: 2.50 times node_exporter, at most 2.0"
    ]
