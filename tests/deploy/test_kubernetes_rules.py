"""The join PersistentVolume -> file system, for a CSI driver that publishes no volume statistics."""

import subprocess
from pathlib import Path


def test_claims_are_joined_to_their_file_system_by_the_volume_handle() -> None:
    """Evaluated by promtool: IPv4, IPv6, a renamed driver, two claims on one file system, two pollers, other drivers."""
    cases = Path(__file__).with_name("kubernetes_rules_test.yml")
    run = subprocess.run(["promtool", "test", "rules", cases], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
