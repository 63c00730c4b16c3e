"""The exporter's own page at `/`: what `/metrics` says, for a person without Grafana.

`status_page` turns the metric families of one collection into frozen rows, `render` turns rows into HTML; neither asks
anything of anybody. `StatusView` is what the web application calls: it collects, remembers the counters of the last
minute so that the page can show rates, and returns the page. The page holds no script and loads nothing;
`CONTENT_SECURITY_POLICY` is the header that says so to the browser.
"""

from fss_exporter.web.status.html import CONTENT_SECURITY_POLICY, render
from fss_exporter.web.status.overview import status_page
from fss_exporter.web.status.rows import StatusPage
from fss_exporter.web.status.view import StatusView

__all__ = ["CONTENT_SECURITY_POLICY", "StatusPage", "StatusView", "render", "status_page"]
