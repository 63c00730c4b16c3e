"""Write the page that every exporter serves on `/runbook` from docs/runbook.md: `make runbook`.

The page is HTML in the package, so that an exporter needs no Markdown library. The exporter puts in the style of the status page.
"""

import re
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
RUNBOOK = ROOT / "docs/runbook.md"
PAGE = ROOT / "exporter/fss_exporter/web/templates/runbook.html"

# A heading with the name of an alert. Links of dashboards have the name as it is, because no query can turn it into lower case.
_ALERT = re.compile(r"Fss\w+")
_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - fss-exporter</title>
<style></style>
</head>
<body>
<header>
  <span class="soft">fss-exporter</span>
  <nav aria-label="Other pages"><a href="/">status</a></nav>
</header>
<main>
{content}</main>
</body>
</html>
"""


def page(text: str) -> str:
    """The Markdown of a document as an HTML page."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(text)
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(content.content))
            if _ALERT.fullmatch(content.content):
                spelled = Token("html_inline", "", 0, content=f'<span id="{content.content}"></span>')
                content.children = [spelled, *(content.children or ())]
        elif token.type == "fence":
            token.attrSet("tabindex", "0")  # a reader without a mouse can scroll the block
    for token in tokens:
        _name_other_pages(token.children or [])
    title = next(token.content for token in tokens if token.type == "inline")
    return _FRAME.format(title=title, content=markdown.renderer.render(tokens, markdown.options, {}))


def _name_other_pages(tokens: list[Token]) -> None:
    """Turn each link to another file into its text. An exporter serves no other document."""
    is_text = False
    for token in tokens:
        if token.type == "link_open":
            is_text = not re.match(r"https?://|#", str(token.attrGet("href")))
        if is_text and token.type in {"link_open", "link_close"}:
            token.tag, token.attrs = "span", {}


def anchor(title: str) -> str:
    """The anchor of a heading, as GitHub names it: `Do now!` becomes `do-now`."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(page(RUNBOOK.read_text(encoding="utf-8")), encoding="utf-8")
