"""Which worker of pytest-xdist runs which tests, and when.

A file runs in one worker, because its tests share servers. Files that take long begin first, so that no worker waits for one at the end.
"""

from xdist.scheduler import LoadFileScheduling

# Files that take long and share nothing: their tests run wherever a worker is free.
SPREAD = frozenset({"tests/rules/with_every_incident.py"})

# Files in the order in which they begin. All other files follow in random order.
#
# Files that wait for servers stand between files that calculate, so that the processors are busy all the time.
LONG = """
tests/e2e/with_incidents.py
tests/rules/test_incidents.py
tests/e2e/test_agent.py
tests/fss_exporter/oci/test_ledger.py
tests/fss_toolbox/cli/test_doctor_account.py
tests/fss_exporter/oci/test_standby.py
tests/fss_exporter/oci/test_publisher.py
tests/fss_exporter/cli/test_serve.py
tests/fss_exporter/oci/test_accounts.py
tests/fss_toolbox/calibrate/test_command.py
tests/fss_exporter/oci/test_intervals.py
tests/fss_exporter/nfs/test_accuracy.py
tests/fss_exporter/oci/test_coverage.py
tests/fss_exporter/web/test_exposition.py
tests/fss_exporter/oci/test_query_shape.py
tests/fss_toolbox/cli/test_alarms.py
tests/fss_toolbox/cli/test_terminal.py
tests/fss_toolbox/cli/test_account_facts.py
tests/fss_exporter/oci/test_shards.py
tests/fss_exporter/test_yaml_lines.py
tests/fss_toolbox/cli/test_discover.py
tests/fss_exporter/cli/test_main.py
""".split()


def turn(path: str) -> int:
    """The place of a file in the order."""
    return LONG.index(path) if path in LONG else len(LONG)


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """One file to one worker, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return nodeid if path in SPREAD else path
