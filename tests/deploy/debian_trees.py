"""File trees of fresh Debian systems. debootstrap makes each once, and a test gets a copy."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".tools/systems"


def debian_tree(name: str, suite: str, packages: str, target: Path) -> Path:
    """Return a copy of the system of this name in a folder. `packages` are separated by commas."""
    kept = KEPT / name
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        building = KEPT / f"{name}.building"
        shutil.rmtree(building, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", f"--include={packages}", suite, str(building)]
        subprocess.run(command, check=True, timeout=1200)
        building.rename(kept)
    subprocess.run(["cp", "-a", "--reflink=auto", kept, target / name], check=True)
    return target / name
