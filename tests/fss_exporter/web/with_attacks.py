"""Hostile clients against a real agent with 10 mounts: its memory, the scrapes that wait meanwhile, and SIGTERM (make test-memory).

`make attacks` prints the same figures for docs/performance.md. The limits hold on a busy machine too: on a quiet one a
scrape waits a tenth of `WAIT_S` (docs/performance.md).
"""

from pathlib import Path

import pytest
from lab.attacks.attacked import attack, serving
from lab.attacks.attackers import ATTACKS, TLS_ATTACKS, Attacker, Target
from lab.attacks.run import agent
from lab.attacks.secured import secure
from lab.benches.bench_agent import Host
from tests.processes import free_port

PEAK_MIB = 64.0

# A fifth of the scrape timeout of Prometheus. A client that keeps a scrape out costs the scrape, or the 5 s of a step's deadline.
WAIT_S = 2.0

STOP_S = 1.0
SECONDS = 0.5  # length of an attack. In a whole second the memory of the server grows by less than 1 MiB more
ROUNDS = 4  # a busy machine delays a round. A mistake of the server delays each
CHEAP = 4  # the cost of bcrypt. The test measures the server, and not two hashes of the usual cost on a busy machine


def attacked(folder: Path, attacker: Attacker, target: Target, flags: str = "") -> None:
    """Attack an agent, and hold the result to the limits. Of the waits the best round counts."""
    command, waits = agent(Host(folder / "proc", 10), flags), []
    for _ in range(ROUNDS):
        with serving(command, target) as server:
            outcome = attack(server, target, attacker, seconds=SECONDS)

        assert server.returncode == 0
        assert outcome.lost == 0
        assert outcome.peak_mib < PEAK_MIB
        waits.append(max(outcome.waits))
        if waits[-1] < WAIT_S and outcome.stop_seconds < STOP_S:
            return
    pytest.fail(f"a scrape waited {waits} s in the rounds, SIGTERM took {outcome.stop_seconds} s")


@pytest.mark.parametrize("attacker", ATTACKS, ids=lambda attacker: attacker.__name__)
def test_hostile_clients_take_little_memory_and_delay_no_scrape(attacker: Attacker, tmp_path: Path) -> None:
    attacked(tmp_path, attacker, Target(free_port()))


@pytest.mark.parametrize("attacker", TLS_ATTACKS, ids=lambda attacker: attacker.__name__)
def test_with_tls_and_users_every_right_scrape_is_answered_at_the_first_try(attacker: Attacker, tmp_path: Path) -> None:
    target, flag = secure(tmp_path, free_port(), CHEAP)

    attacked(tmp_path, attacker, target, flag)
