"""`calibrate` against the server of the guest. A demo region charges the requests by a table that the command does not know."""

import json
import random
import subprocess
from pathlib import Path

from lab.kernels.guest.lab import OUT, exporter, note, run, say, wait

from fss_exporter.model.operations import FIXED_COSTS
from fss_toolbox.calibrate.calibration_steps import PAST_THE_END, STEPS
from fss_toolbox.demo.region.charges import ChargeTable

_TARGET, _ADDRESS, _PLACE = "mt-idle", "10.80.4.40", "/mnt/idle"
_LARGEST_IOPS = 60
_PAGE = 4096
_LAST_DIGIT = 0.0002  # the document has four digits
_URL = "http://127.0.0.1:21020"
_TRANSFERS = {"READ": 1.0, "WRITE": 2.0}


def _hidden() -> dict[str, object]:
    """Costs of 0.5 to 2 times the white paper's, others in each run."""
    chance = random.SystemRandom()

    def some(cost: float) -> float:
        return round(cost * chance.uniform(0.5, 2.0), 2)

    fixed: dict[str, object] = {name: some(cost) for name, cost in FIXED_COSTS.items()}
    return fixed | {name: {"request": some(cost), "block": some(cost)} for name, cost in _TRANSFERS.items()}


def calibrate() -> None:
    """Measure every kind of request, and compare each row with the hidden cost and its stated error."""
    hidden, table = _hidden(), OUT / "hidden-costs.yml"
    table.write_text(json.dumps(hidden))
    run("ip", "-n", "srv", "addr", "add", f"{_ADDRESS}/24", "dev", "vs0")
    run("ip", "addr", "add", "10.80.4.2/24", "dev", "vc0")
    Path(_PLACE).mkdir(parents=True)
    run("mount", "-t", "nfs", "-o", "vers=3,proto=tcp", f"{_ADDRESS}:/export/a", _PLACE)
    shown = OUT / "region.txt"
    flags = [f"--charge={_TARGET}", f"--charge.table={table}", f"--charge.counters={_counters()}"]
    region = subprocess.Popen(
        exporter("demo", "--region-only", "--region-port=21020", *flags),
        stdout=shown.open("w"),
        stderr=subprocess.STDOUT,
    )
    wait("the demo region", lambda: "Credentials" in shown.read_text())
    credentials = next(line.split()[1] for line in shown.read_text().splitlines() if line.startswith("Credentials"))
    account = [f"--oci.endpoint={_URL}", f"--oci.config-file={credentials}"]
    load = ["--minutes=1", f"--max-iops={_LARGEST_IOPS}", "--output=json"]
    done = run(*exporter("calibrate", _PLACE, *account, *load), check=False)
    (OUT / "calibrate.json").write_text(done.stdout)
    (OUT / "calibrate.txt").write_text(done.stderr)
    region.terminate()
    region.wait()
    run("umount", _PLACE)
    if not done.stdout:
        note("calibrate", f"ended with {done.returncode}: {done.stderr[-300:]}", holds=False)
        return
    outside, differences = _compared(done.stdout, hidden)
    inside = len(STEPS) - 1 - len(outside)
    result = [f"{inside} of {len(STEPS) - 1} rows are inside their stated error", *outside]
    if differences:
        result.append(f"largest error {max(differences):.1%}, mean {sum(differences) / len(differences):.2%}")
    note("calibrate", "; ".join(result), holds=not outside)


def _counters() -> Path:
    """Counters of the NFS server. Older kernels have them in the first network namespace only."""
    server = run("ip", "netns", "pids", "srv").stdout.split()[0]
    own = Path(f"/proc/{server}/net/rpc/nfsd")
    return own if own.exists() else Path("/proc/net/rpc/nfsd")


def _compared(text: str, hidden: dict[str, object]) -> tuple[list[str], list[float]]:
    """Return each row that does not lie inside its stated error, and the errors of the rows with a cost."""
    table, rows = ChargeTable(hidden), {row["step"]: row for row in json.loads(text)["rows"]}
    outside, differences = [], []
    for step in STEPS[1:]:
        row = rows.get(step.name)
        if row is None:
            outside.append(f"{step.name} has no row")
            continue
        # The server's counters have no calls of NLM and NFSACL, and count the bytes that a READ past the end returns.
        size = _PAGE if step.name == PAST_THE_END else step.size
        truth = 0.0 if step.operation in ("NLM", "NFSACL") else table.cost(step.operation, size)
        measured, error = row["io_operations_measured"], row["uncertainty"] * (row["io_operations_by_table"] or 1.0)
        compared = f"{step.name}: hidden {truth:.2f}, measured {measured:.2f} +- {error:.2f}"
        say(compared, row["verdict"])
        if truth:
            differences.append(abs(measured - truth) / truth)
        if abs(measured - truth) > error + _LAST_DIGIT:
            outside.append(compared)
    return outside, differences
