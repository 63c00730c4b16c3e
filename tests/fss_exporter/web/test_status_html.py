"""The status page as HTML: hostile names, policy, links, the view between two looks, and how numbers read."""

import hashlib
import math
import re
from base64 import b64encode

import pytest
from hypothesis import given, strategies as st
from tests.fss_exporter.web.pages import HOSTILE, NOW, START, families, mount, mount_target, page_of

from fss_exporter.catalogue import family, histogram
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.state import State
from fss_exporter.web.status.html import bandwidth, count, percent, render, seconds
from fss_exporter.web.status.overview import status_page
from fss_exporter.web.status.rows import Quantity, Usage
from fss_exporter.web.status.style import CONTENT_SECURITY_POLICY
from fss_exporter.web.status.view import StatusView


def test_names_from_outside_are_text_and_never_markup() -> None:
    rows = [*mount_target(HOSTILE, iops=1, iops_limit=2), *mount(10, export=HOSTILE)]
    html = render(page_of(*rows, earlier=mount(5, export=HOSTILE)))

    assert html.count("&lt;script&gt;alert(") >= 2
    assert html.count("<script") == 1
    assert "<img" not in html


@given(st.text(min_size=1).filter(lambda name: name.isprintable()))
def test_no_name_adds_an_element_to_the_page(name: str) -> None:
    def elements(html: str) -> list[str]:
        return re.findall(r"<[a-z/!][^>]*>", html)

    plain = elements(render(page_of(*mount_target("x"))))

    assert len(elements(render(page_of(*mount_target(name))))) == len(plain)


def test_the_policy_admits_the_style_sheet_and_the_script_of_the_page_and_nothing_else() -> None:
    html = render(page_of())
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)

    assert f"'sha256-{b64encode(hashlib.sha256(style.encode()).digest()).decode()}'" in CONTENT_SECURITY_POLICY
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY
    assert " style=" not in html


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ((HOSTILE, 3), "asks for it: <bdi>&lt;script&gt;"),
        ((HOSTILE, 3), " and 2 more"),
        (("/mnt/a", 1), "</bdi>. <a"),
        (("", 0), ""),
        (None, "because the file of the host is not seen here"),
    ],
)
def test_a_mount_of_fstab_that_is_gone_is_named_and_a_file_that_is_not_seen_is_said(
    gone: tuple[str, int] | None, words: str
) -> None:
    rows = [("fss_nfs_fstab_missing_mounts", {"mount_point": gone[0]}, gone[1])] if gone else []
    html = render(page_of(("fss_collector_success", {"collector": "nfs"}, 1), *rows))

    assert words in html
    assert ("fstab" in html) is bool(words)


def test_links_lead_to_where_the_metrics_are() -> None:
    assert 'href="/fss/metrics"' in render(page_of(), telemetry_path="/fss/metrics")


def test_the_window_of_the_rates_is_half_a_minute_however_many_look() -> None:
    time = [0.0]
    view = StatusView(lambda: families(mount(100 * time[0])), clock=lambda: time[0], now=lambda: NOW)

    first = view.html()
    time[0] = 20.0
    second = view.html()
    time[0] = 50.0
    third = view.html()
    for second_of_many in range(51, 200):
        time[0] = float(second_of_many)
        many = view.html()
    time[0] = 1000.0
    much_later = view.html()

    assert "Means of the last 1 s" in first
    assert "Means of the last 21 s" in second
    assert "Means of the last 30 s" in third
    assert any(f"Means of the last {seconds} s" in many for seconds in range(30, 41))
    assert "Means of the last 14 min" in much_later


def test_a_wall_clock_set_back_by_a_day_shows_no_negative_age() -> None:
    failed = [
        ("fss_collector_success", {"collector": "oci"}, 0),
        ("fss_collector_last_success_timestamp_seconds", {"collector": "oci"}, NOW.timestamp() + 86_400),
    ]
    view = StatusView(lambda: families([*failed, *mount(1)]), clock=iter((0.0, 10.0)).__next__, now=lambda: NOW)

    html = view.html()

    assert "(last success 0 s ago)" in html
    assert "Means of the last 11 s" in html


def test_a_reload_within_a_second_takes_rates_over_the_time_before() -> None:
    time = [0.0]
    view = StatusView(lambda: families(mount(1)), clock=lambda: time[0], now=lambda: NOW)

    time[0] = 99.0
    view.html()
    time[0] = 99.2

    assert "Means of the last 100 s" in view.html()


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (count(46_210.4), "46,210"),
        (count(3.25), "3.2"),
        (count(0), "0"),
        (bandwidth(812e6), "812 MB/s"),
        (bandwidth(1.25e9), "1.25 GB/s"),
        (bandwidth(0), "0 B/s"),
        (seconds(0.0123), "12.3 ms"),
        (seconds(0.00035), "350 µs"),
        (seconds(2.5), "2.5 s"),
        (percent(0.7999), "79 %"),
        (percent(0.8), "80 %"),
        (percent(0.29), "29 %"),
        (percent(0.001), "<1 %"),
        (percent(0), "0 %"),
    ],
)
def test_a_number_reads_as_people_write_it(shown: str, expected: str) -> None:
    assert shown == expected


def test_a_share_without_a_ceiling_is_unknown() -> None:
    usage = Usage(Quantity.IOPS, KnownFigure(10, FigureSource.MEASURED))

    assert (usage.ratio, usage.state) == (None, State.NOT_KNOWN)


def test_an_address_in_exact_mode_shows_upper_edges_of_median_and_99th_percentile() -> None:
    labels = ("network", "address")
    address = family("fss_client_peak_estimated_iops", [(("r", "10.0.0.9"), 25_000.0)], labels=labels)
    buckets = ((0.008192, 60), (0.131072, 99), (math.inf, 100))
    durations = histogram(
        "fss_client_request_duration_seconds",
        [(("r", "10.0.0.9", of_class), buckets, 1.0) for of_class in ("read", "write")],
        labels=(*labels, "class"),
    )
    state = family("fss_client_address_state", [(("r", "10.0.0.9"), 0.0)], labels=labels)
    page = status_page([address, state, durations], now=NOW, at=100.0, earlier=START)[0]
    (row,) = page.addresses

    assert (row.p50_seconds, row.p99_seconds) == (0.008192, 0.131072)
    assert "≤ 8.19 ms" in render(page)
    assert "≤ 131 ms" in render(page)
    assert "requests within" not in render(status_page([address, state], now=NOW, at=100.0, earlier=START)[0])
