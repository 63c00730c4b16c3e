"""The exporter's own page at `/`: what `/metrics` says, for a person without Grafana.

`overview.status_page` turns the metric families of one collection into the frozen rows of `rows`, `html.render` turns rows
into HTML; neither asks anything of anybody. `view.StatusView` is what the web application calls: it collects, remembers
the counters of the last minute so that the page can show rates, and returns the page. The page holds no script and loads
nothing; `style.CONTENT_SECURITY_POLICY` is the header that says so to the browser.
"""
