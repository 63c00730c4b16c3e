# SPDX-License-Identifier: Apache-2.0
"""The page's style sheet and script, and the header that limits a browser to both."""

import base64
import hashlib
from importlib.resources import files
from typing import Final


def _read(name: str) -> str:
    return files("fss_exporter.web").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


STYLE: Final = _read("status.css")
SCRIPT: Final = _read("status.js")

# Value of the page's Content-Security-Policy header.
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src {_hash(STYLE)}; script-src {_hash(SCRIPT)}; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)

# The same header for pages without a script.
STYLE_ONLY_POLICY: Final = (
    f"default-src 'none'; style-src {_hash(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
