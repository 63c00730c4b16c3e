"""`fss-exporter plan --compare`: one table of shapes and sizes."""

import json
import time
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.fss_toolbox.plan.planned import by_part
from tests.json_schema import problems, schema_of
from tests.prompt import ask

from fss_toolbox.cli import plan as command

NOW = 1_790_000_000
LOAD = ("--read-bandwidth", "1500MB/s", "--compare")


def test_each_option_says_fit_price_limit_and_commitment() -> None:
    answer = ask("plan", *LOAD, "--output", "json")

    assert problems(answer.document, schema_of("plan"), schema_of("plan")) == []
    options = {option["option"]: option for option in answer.document["plans"][0]["options"]}
    assert options["hpmt-80"]["default_service_limit"] == 0
    assert options["hpmt-20"]["usd_per_month"] == 6_000
    assert options["hpmt-20"]["price_date"] == "2026-11-24"
    assert options["lustre mbps-per-tb-125"]["usd_per_month"] is None
    assert options["standard"]["fits"]
    assert options["hpmt-20"]["extra_usd_per_month"] is None
    out = " ".join(ask("plan", *LOAD).out.split())
    assert "needs a higher service limit first: 1 x hpmt-80" in out
    assert "no price known for lustre mbps-per-tb-125" in out


def test_stored_data_count_against_the_entitlement() -> None:
    (plan,) = ask("plan", *LOAD, "--stored", "15TB", "--output", "json").document["plans"]
    options = {option["option"]: option["extra_usd_per_month"] for option in plan["options"]}

    assert (options["standard"], options["hpmt-20"], options["hpmt-40"]) == (0, 1_500, 7_500)
    assert "Today 15.0 TB are stored there" in " ".join(ask("plan", *LOAD, "--stored", "15TB").out.split())
    assert "State them with --stored" in " ".join(ask("plan", *LOAD).out.split())


def test_a_table_of_prices_replaces_the_shipped_one(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["lustre mbps-per-tb-125"]\nusd_per_gb = 0.1\nsource = "contract"\ndate = "2026-11-01"\n')
    (plan,) = ask("plan", *LOAD, "--prices", prices, "--output", "json").document["plans"]
    options = {option["option"]: option for option in plan["options"]}

    assert options["lustre mbps-per-tb-125"]["usd_per_month"] == pytest.approx(31.2 * 1024**4 / 1e9 * 0.1)
    assert options["lustre mbps-per-tb-125"]["price_source"] == "contract"
    assert options["hpmt-20"]["usd_per_month"] is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[a", "prices.toml: "),
        ("usd = 5", "not a table"),
        ("[standard]\nusd_per_gb = 5", "give usd_per_gb, source and date"),
        ('[standard]\nusd_per_gb = 5\nsource = 5\ndate = "2026-11-01"', "give usd_per_gb, source and date"),
        ('[hpmt-20]\nusd = 5\nsource = "s"\ndate = "2026-11-01"', "give usd_per_gb, source and date"),
        ('[standard]\nusd_per_gb = -5\nsource = "s"\ndate = "2026-11-01"', "not an amount"),
        (f'[standard]\nusd_per_gb = 1{"0" * 400}\nsource = "s"\ndate = "2026-11-01"', "not an amount"),
        ('[standard]\nusd_per_gb = 1e308\nsource = "s"\ndate = "2026-11-01"', "not an amount"),
        (f"a = {'[' * 100_000}", "nested too deeply"),
        ('[standard]\nusd_per_gb = nan\nsource = "s"\ndate = "2026-11-01"', "not an amount"),
        ('[standard]\nusd_per_gb = 5\nsource = "s"\ndate = "soon"', "date is not a day"),
        ('[standard]\nusd_per_gb = 5\nsource = "s"\ndate = "2026-11-01"\neuro = 4', "give usd_per_gb, source and date"),
        ('[hmpt-20]\nusd_per_gb = 5\nsource = "s"\ndate = "2026-11-01"', "no such option. There are standard, hpmt-20"),
    ],
)
def test_a_wrong_table_of_prices_is_refused_with_the_place(tmp_path: Path, text: str, why: str) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(text)
    answer = ask("plan", *LOAD, "--prices", prices)

    assert answer.code == 2
    assert why in answer.err


def growing(path: str, days: int, silent: int = 0) -> str:
    """A Prometheus with a mount target of standard shape whose reads grow by 10 MB/s a day to 700 MB/s.

    The last `silent` days have no data.
    """
    query = parse_qs(urlsplit(path).query)
    text, is_daily = query["query"][0], query.get("step") == ["86400"]
    labels = {"mount_target_id": "ocid1.a"}
    values = [(NOW, "0")]
    if "limit" in text:
        values = []
    elif "fss_mount_target_info" in text:
        labels |= {"address": "10.0.0.5", "mount_target": "mt", "shape": "standard"}
    elif "read_bytes_per_second" in text:
        values = [
            (NOW - day * 86_400, str(700e6 - day * 10e6)) for day in reversed(range(silent, days) if is_daily else [0])
        ]
    elif "write_bytes_per_second" not in text:
        values = []
    if is_daily:
        begin, end = float(query["start"][0]), float(query["end"][0])
        values = [(moment, value) for moment, value in values if begin <= moment <= end]
    series = {
        "metric": labels,
        **({"values": values} if "query_range" in path else {"value": (values or [(0, "nan")])[0]}),
    }
    return json.dumps({"status": "success", "data": {"result": [series] if values else []}})


def test_four_weeks_are_read_only_for_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answered(url: str, *_: object) -> str:
        asked.append(url)
        return by_part(partial(growing, days=28))(url)

    monkeypatch.setattr(command, "get", answered)
    monkeypatch.setattr(time, "time", lambda: NOW)
    assert ask("plan", "--prometheus", "http://p").code == 0
    assert not any("step=86400" in url for url in asked)
    assert ask("plan", "--prometheus", "http://p", "--compare").code == 0
    assert any("step=86400" in url for url in asked)


@pytest.mark.parametrize(("days", "silent", "full_on"), [(28, 0, "2026-10-21"), (28, 5, "2026-10-21"), (5, 0, None)])
def test_the_date_when_full_is_that_of_the_present_growth(
    monkeypatch: pytest.MonkeyPatch, days: int, silent: int, full_on: str | None
) -> None:
    monkeypatch.setattr(command, "get", lambda url, *_: by_part(partial(growing, days=days, silent=silent))(url))
    monkeypatch.setattr(time, "time", lambda: NOW)
    answer = ask("plan", "--prometheus", "http://p", "--compare", "--output", "json")
    (plan,) = answer.document["plans"]
    options = {(option["option"], option["count"]): option for option in plan["options"]}

    assert options["standard", 1]["full_on"] == full_on, "30 days from 2026-09-21"
    assert options["standard", 1]["fits"] is options["hpmt-20", 1]["fits"] is None, "OCI has no IOPS of the load"
    assert options["lustre mbps-per-tb-125", 1]["fits"]
    out = " ".join(ask("plan", "--prometheus", "http://p", "--compare").out.split())
    assert "not known whether it fits: the IOPS of the load are not known: standard, hpmt-20" in out
