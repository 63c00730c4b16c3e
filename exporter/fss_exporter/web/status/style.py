"""The page's one style sheet, and the header that lets a browser use it and nothing else."""

import base64
import hashlib
from importlib.resources import files
from typing import Final

STYLE: Final = files("fss_exporter.web").joinpath("templates", "status.css").read_text(encoding="utf-8")

_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Value of the header that goes with the page."""
