# SPDX-License-Identifier: Apache-2.0
"""The handler of `/runbook` and `/docs/NAME`: the documents of the installed version, as HTML.

Alerts link to the runbook, and a host without internet has no other copy. markdown-it comes with `rich`, which every
installation has. It is imported for the first visitor.
"""

import posixpath
import re
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fss_exporter.web.messages import HTML, Request, Response

if TYPE_CHECKING:
    from markdown_it.token import Token

_ROOT: Final = "/docs/"
RUNBOOK_PATH: Final = "/runbook"


class Documents:
    """The Markdown files of a folder as pages. Each is rendered for its first visitor and kept.

    Args:
        folder: the documents, by default those that the installed package brings.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(str(files("fss_exporter") / "documents"))
        self._names = frozenset(str(path.relative_to(self._folder)) for path in self._folder.rglob("*.md"))
        self._html = cache(self._render)

    @property
    def paths(self) -> frozenset[str]:
        """The path of each page on the server."""
        pages = frozenset(_ROOT + name for name in self._names)
        return pages | {RUNBOOK_PATH} if "runbook.md" in self._names else pages

    def response(self, request: Request) -> Response:
        """Answer a visitor of one of `paths`."""
        from fss_exporter.web.status.style import STYLE_ONLY_POLICY  # noqa: PLC0415  # few agents have a visitor

        name = "runbook.md" if request.path == RUNBOOK_PATH else request.path.removeprefix(_ROOT)
        policy = ("Content-Security-Policy", STYLE_ONLY_POLICY)
        return Response(200, self._html(name).encode(), content_type=HTML, headers=(policy,))

    def _render(self, name: str) -> str:
        from markdown_it import MarkdownIt  # noqa: PLC0415  # a quarter of a second, for the first visitor
        from markdown_it.token import Token  # noqa: PLC0415

        from fss_exporter.web.status.html import render_document  # noqa: PLC0415

        markdown = MarkdownIt("commonmark").enable("table")
        tokens = markdown.parse((self._folder / name).read_text(encoding="utf-8"))
        for token, content in pairwise(tokens):
            if token.type == "heading_open":
                token.attrSet("id", anchor(content.content))
                if _ALERT.fullmatch(content.content):
                    spelled = Token("html_inline", "", 0, content=f'<span id="{content.content}"></span>')
                    content.children = [spelled, *(content.children or ())]
            elif token.type == "fence":
                token.attrSet("tabindex", "0")  # a reader without a mouse can scroll the block
        for token in tokens:
            self._lead_links(name, token.children or ())
        title = next((token.content for token in tokens if token.type == "inline"), name)
        return render_document(str(markdown.renderer.render(tokens, markdown.options, {})), title=title)

    def _lead_links(self, name: str, tokens: "list[Token] | tuple[()]") -> None:
        """Point each link at the page on this server. A link to a file that no server has becomes plain text."""
        is_plain = False
        for token in tokens:
            if token.type == "link_open":
                target = self._target(name, str(token.attrGet("href")))
                is_plain = target is None
                token.attrSet("href", target or "")
            if is_plain and token.type in {"link_open", "link_close"}:
                token.tag, token.attrs = "span", {}

    def _target(self, name: str, link: str) -> str | None:
        if urlsplit(link).scheme or link.startswith("#"):
            return link
        path, hash_sign, fragment = link.partition("#")
        other = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        return f"{_ROOT}{other}{hash_sign}{fragment}" if other in self._names else None


# A heading with the name of an alert. Links of dashboards have the name as it is, because no query can turn it into lower case.
_ALERT = re.compile(r"Fss\w+")


def anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub names it: `Do now!` becomes `do-now`."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
