# SPDX-License-Identifier: Apache-2.0
"""The exporter's page at `/`, for people without Grafana.

`overview.status_page` converts the metric families of one collection into the frozen rows of `rows`. `html.render` converts
rows into HTML. `view.StatusView` is the entry of the web application: the view collects, keeps the counters of the last
minute for rates, and returns the page. The page loads nothing from elsewhere and runs a single script.
`style.CONTENT_SECURITY_POLICY` is the header with these limits for the browser.
"""
