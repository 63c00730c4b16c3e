"""What a wheel has to hold: every file of the packages in the checkout."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / name for name in ("exporter/fss_exporter", "exporter/fss_kernel_counting", "toolbox/fss_toolbox")]


def packaged_files() -> set[str]:
    """Paths as in the wheel. Of the documents, the pages are packed, and no pictures."""
    return {
        str((Path(folder) / name).relative_to(package.parent))
        for package in PACKAGES
        for folder, _, names in os.walk(package, followlinks=True)
        for name in names
        if "__pycache__" not in folder and ("documents" not in folder or name.endswith(".md"))
    }
