"""The rules and the documents speak of the states of the model."""

import re

from tests.rules.pack import RULES

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.model.state import CLIENT_CEILINGS, SUBJECTS, SUBJECTS_OF_HOSTS, State
from fss_exporter.model.thresholds import CLIENTS_SHARES, CRITICAL_RATIO, LEAST_CLIENTS

PACK = {path.name: path.read_text(encoding="utf-8") for path in RULES.glob("*.yml")}
RUNBOOK = (RULES.parent / "docs" / "runbook.md").read_text(encoding="utf-8")


def test_the_rules_count_clients_from_each_state_on_and_give_its_number() -> None:
    counted = re.findall(
        r'fss_client_time:ratio_rate1m\{verdict=~?"([\w|]+)"\}\) >= 0\.5.*?labels:\n          state: (\w+)',
        PACK["clients.yml"],
        re.DOTALL,
    )
    given = re.findall(r'fss_clients:ratio\{state="(\w+)"\} >= [\d.]+\) \* 0 \+ (\d)', PACK["clients.yml"])
    worst = [(state.word, str(state.value)) for state in sorted(State, reverse=True) if state >= State.SLOW]

    words = [word for word, _ in worst]
    assert counted == [("|".join(words[: number + 1]), word) for number, word in enumerate(words)]
    assert given == worst


def test_the_rules_take_the_share_and_the_number_of_clients_of_the_model() -> None:
    shares = re.findall(r'fss_clients:ratio\{state="(\w+)"\} >= ([\d.]+)\)', PACK["clients.yml"])

    assert {state: float(share) for state, share in shares} == CLIENTS_SHARES
    assert f"address_state:fss_clients:count >= {LEAST_CLIENTS})" in PACK["clients.yml"]


def test_a_page_about_clients_that_hang_takes_the_share_and_the_number_of_the_state() -> None:
    (down,) = re.findall(r"slo:fss_clients_down:count\n.*?labels:", PACK["service_level.yml"], re.DOTALL)[:1]

    assert f"address:fss_clients_unanswered:count) >= {LEAST_CLIENTS}\n" in down
    assert f"address:fss_clients_asking:count) >= {CLIENTS_SHARES['hanging']}\n" in down
    (waiting,) = re.findall(
        r"record: address:fss_clients_waiting:count\n.*?labels:", PACK["service_level.yml"], re.DOTALL
    )
    assert f">= 60) >= {LEAST_CLIENTS}\n" in waiting
    assert f"address:fss_clients_asking:count) < {CLIENTS_SHARES['hanging']}\n" in waiting


def test_bad_minutes_of_clients_are_those_of_the_states() -> None:
    bad = re.findall(
        r"\(\(address:fss_client_state:max != 1\) (>=|==) bool (\d)\).*?objective: (\w+)",
        PACK["service_level.yml"],
        re.DOTALL,
    )

    assert bad == [(">=", str(State.FAILING.value), "availability"), ("==", str(State.SLOW.value), "latency")]


def test_beside_the_number_of_a_state_stands_its_word() -> None:
    number = re.compile(r"\* 0 \+ (\d)\b|state:max\)? (?:>=|==|!=) (\d)\b|\) (?:>=|==) bool (\d)\b")
    lines = [line for text in PACK.values() for line in text.splitlines() if number.search(line)]

    assert lines
    for line in lines:
        expression, _, comment = line.partition("  # ")
        states = [State(int(next(filter(None, found)))) for found in number.findall(expression)]
        assert comment == ", ".join(f"{state.value} is {state.word}" for state in states), line


def test_a_mount_target_without_a_poller_has_the_number_of_not_known() -> None:
    assert (
        f"unless on (tenancy, region, mount_target_id) fss_mount_target_state) * 0 + {State.NOT_KNOWN}"
        in (PACK["clients.yml"])
    )


def test_an_address_near_a_stated_ceiling_is_near_by_the_ticket_by_the_state_and_by_the_model_alike() -> None:
    load, peak = (
        f"address_resource:fss_client_utilisation:ratio{{{of}}} >= {least}"
        for of, least in (
            (
                'resource!="peak_iops"',
                "on (network, address) group_left () min by (network, address) (fss_client_warning_ratio)",
            ),
            ('resource="peak_iops"', f"{CRITICAL_RATIO:g}"),
        )
    )
    resources = re.findall(
        r"record: address_resource:fss_client_utilisation:ratio\n.*?resource: (\w+)", PACK["load.yml"], re.DOTALL
    )

    for share in (load, peak):
        assert share in re.sub(r"\s+", " ", PACK["load.yml"])
    assert all(f"({of}) * 0 + {State.NEAR.value}  #" in PACK["clients.yml"] for of in (load, peak))
    assert sorted(resources) == sorted(CLIENT_CEILINGS)
    assert dict(CLIENT_CEILINGS["peak_iops"].limits) == {CRITICAL_RATIO: State.NEAR}


def test_the_help_of_a_state_has_every_number_and_word() -> None:
    text = CATALOGUE["fss_mount_target_state"].help
    assert all(f"{state.value} {state.word}" in text for state in State)


def test_every_subject_has_a_heading_of_the_runbook() -> None:
    headings = {heading.lower() for heading in re.findall(r"^#+ (\w+)", RUNBOOK, re.MULTILINE)}
    assert {subject.runbook for subject in (*SUBJECTS.values(), *SUBJECTS_OF_HOSTS.values())} <= headings
