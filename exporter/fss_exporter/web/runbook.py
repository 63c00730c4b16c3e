# SPDX-License-Identifier: Apache-2.0
"""The handler of `/runbook`: the runbook of the installed version.

Alerts link to the runbook, and a host without internet has no other copy. `make runbook` writes the page from docs/runbook.md.
"""

from importlib.resources import files

from fss_exporter.web.messages import HTML, Request, Response


def runbook(_: Request) -> Response:
    """Answer a visitor."""
    from fss_exporter.web.status.style import STYLE, STYLE_ONLY_POLICY  # noqa: PLC0415  # few agents have a visitor

    page = files("fss_exporter.web").joinpath("templates", "runbook.html").read_text(encoding="utf-8")
    styled = page.replace("<style></style>", f"<style>{STYLE}</style>", 1)
    return Response(200, styled.encode(), content_type=HTML, headers=(("Content-Security-Policy", STYLE_ONLY_POLICY),))
