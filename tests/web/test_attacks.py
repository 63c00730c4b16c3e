"""Hostile clients against a real agent with 10 mounts: its memory, the scrapes that wait meanwhile, and SIGTERM.

`make attacks` prints the same figures for docs/security.md. The limits hold on a busy machine too, because the figures
leave out what the kernel counts as waiting for a processor (`tools.attacked.Stopwatch`).
"""

from pathlib import Path

import pytest
from tools.attacked import Outcome, attack, serving
from tools.attackers import ATTACKS, TLS_ATTACKS, Attacker, Target
from tools.attacks import agent
from tools.bench import Host, free_port
from tools.secured import secure

PEAK_MIB = 64.0
WAIT_S = 0.5
TLS_WAIT_S = 1.0
"""Every other scrape of the test shakes hands and brings a password that the agent has not seen before."""
STOP_S = 1.0
CHEAP = 4
"""The cost of bcrypt. With the usual 10 the scraper waits for its turn behind 40 guesses for two seconds and more."""


def attacked(folder: Path, attacker: Attacker, target: Target, flags: str = "") -> Outcome:
    """What one attack did to an agent that ended as it should."""
    with serving(agent(Host(folder / "proc", 10), flags), target) as server:
        found = attack(server, target, attacker, seconds=2.0)

    assert server.returncode == 0
    assert found.lost == 0
    assert found.peak_mib < PEAK_MIB
    assert found.stop_seconds < STOP_S
    return found


@pytest.mark.parametrize("attacker", ATTACKS, ids=lambda attacker: attacker.__name__)
def test_hostile_clients_take_little_memory_and_delay_no_scrape(attacker: Attacker, tmp_path: Path) -> None:
    found = attacked(tmp_path, attacker, Target(free_port()))

    assert max(found.waits) < WAIT_S


@pytest.mark.parametrize("attacker", TLS_ATTACKS, ids=lambda attacker: attacker.__name__)
def test_with_tls_and_users_every_right_scrape_is_answered_at_the_first_try(attacker: Attacker, tmp_path: Path) -> None:
    target, flag = secure(tmp_path, free_port(), CHEAP)

    found = attacked(tmp_path, attacker, target, flag)

    assert max(found.waits) < TLS_WAIT_S
