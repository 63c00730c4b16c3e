"""Several accounts in one poller: each has its own label, loops, budget and failures, and none disturbs another."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.clock import Clock
from tests.exposition_text import collected
from tests.fss_exporter.oci.world import START
from tests.region import Region, small

from fss_exporter.catalogue import CLOUD
from fss_exporter.client_scrape import Scraped
from fss_exporter.errors import ConfigError, UsageError
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import Settings, load
from fss_exporter.web.collecting import Collectors
from fss_exporter.web.status.overview import TimedScrape, status_page

ACME, BETA = "acme", "beta"
SHOWN = ("fss_mount_target_info", "fss_mount_target_connections", "fss_mount_target_read_bytes_total")


class TwoTenancies:
    """Two tenancies with equal names and addresses in one region, and a poller of both."""

    def __init__(self, make: Callable[..., Region], clock: Clock, folder: Path, **settings: Any) -> None:
        self.clock, self.folder = clock, folder
        self.regions = {name: make(small(name)) for name in (ACME, BETA)}
        self.configure(**settings)
        self.poller = Poller(lambda: self.settings, now=clock, clock=clock, wait=clock.wait)
        self.source = OciCollector(self.poller.accounts, now=clock)
        self.collectors = Collectors({"oci": self.source}, self.poller.loops, clock)

    def configure(self, **settings: Any) -> None:
        """Write the settings of both accounts, with further ones by account. They wait for a start or a reload."""
        self.settings = load(None, {"oci.services": (), "oci.accounts": self.accounts(**settings)})

    def reload(self, **settings: Any) -> None:
        self.configure(**settings)
        self.poller.reload()()

    def accounts(self, **settings: Any) -> list[dict[str, Any]]:
        accounts = []
        for name, region in self.regions.items():
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            config = region.account.write_config(folder, region.tenancy.region)
            accounts.append(
                {"name": name, "config_file": str(config), "endpoint": region.url, **settings.get(name, {})}
            )
        return accounts

    def poll(self) -> None:
        """One round of each loop."""
        for loop in self.poller.loops:
            loop.run_once()

    def samples(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        """Labels and values of a metric as a scrape sees them."""
        for family in collected(self.collectors):
            yield from ((sample.labels, sample.value) for sample in family.samples if sample.name == name)

    def values(self, name: str, *by: str) -> dict[tuple[str, ...], float]:
        return {tuple(labels[label] for label in by): value for labels, value in self.samples(name)}


@pytest.fixture
def tenancies(
    regions_in_memory: Callable[..., Region], clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., TwoTenancies]:
    clock.now = START
    monkeypatch.setattr("circuitbreaker.monotonic", clock)
    return lambda **settings: TwoTenancies(regions_in_memory, clock, tmp_path, **settings)


def test_each_series_of_oci_names_its_tenancy_and_none_comes_twice(tenancies: Callable[..., TwoTenancies]) -> None:
    two = tenancies()
    for _ in range(3):
        two.poll()
        two.clock.now += 60.0
    of_cloud = {declared.family_name for declared in CLOUD}
    families = [family for family in collected(two.source) if family.name in of_cloud]
    assert len({family.name for family in families}) == len(families)
    for family in families:
        labels = [tuple(sample.labels.items()) for sample in family.samples]
        assert len(set(labels)) == len(labels), family.name
        assert {sample.labels["tenancy"] for sample in family.samples} == {ACME, BETA}, family.name


def test_equal_names_and_addresses_of_two_tenancies_stay_apart_where_an_account_names_its_network(
    tenancies: Callable[..., TwoTenancies],
) -> None:
    two = tenancies(beta={"network": "beta-net"})
    two.poll()
    places = two.values("fss_mount_target_info", "tenancy", "mount_target", "network", "address")
    assert {(tenancy, network) for tenancy, _, network, _ in places} == {
        (ACME, "eu-frankfurt-1"),
        (BETA, "beta-net"),
    }
    assert all(address for *_, address in places)
    assert len(places) == 2 * len(small().mount_targets)


def test_an_account_that_fails_costs_only_itself(tenancies: Callable[..., TwoTenancies]) -> None:
    two = tenancies()
    two.regions[BETA].add_fault("500:SummarizeMetricsData")
    two.poll()
    assert two.values("fss_oci_poll_success", "tenancy") == {(ACME,): 1, (BETA,): 0}
    assert {
        key
        for key, value in two.values("fss_coverage_seen", "tenancy", "part").items()
        if key[1] == "regions" and value
    } == {(ACME, "regions")}
    success = two.values("fss_collector_success", "collector")
    assert success["oci/acme",] == 1
    assert success["oci/beta",] == 0
    assert success["oci",] == 1, "something is seen"
    assert success["oci_inventory/beta",] == 1
    iops = two.values("fss_mount_target_connections", "tenancy")
    assert set(iops) == {(ACME,)}


def test_an_account_without_credentials_costs_only_itself(tenancies: Callable[..., TwoTenancies]) -> None:
    two = tenancies(beta={"profile": "NOBODY"})
    two.poll()
    assert two.values("fss_oci_poll_success", "tenancy") == {(ACME,): 1}
    success = two.values("fss_collector_success", "collector")
    assert [success[f"{loop}/{BETA}",] for loop in ("oci", "oci_inventory")] == [0, 0]
    assert [success[f"{loop}/{ACME}",] for loop in ("oci", "oci_inventory")] == [1, 1]
    assert two.poller.waits_for() == "a first answer of OCI in every region of beta"


def test_a_poller_is_ready_once_oci_has_answered_for_each_account_and_stays_so(
    tenancies: Callable[..., TwoTenancies],
) -> None:
    two = tenancies()
    for region in two.regions.values():
        region.add_fault("500:SummarizeMetricsData")
    two.poll()
    assert two.poller.waits_for() == "a first answer of OCI in every region of acme, beta"
    for region in two.regions.values():
        region.clear_faults()
    two.clock.now += 60.0
    two.poll()
    assert two.poller.waits_for() == ""
    two.regions[BETA].add_fault("500:SummarizeMetricsData")
    two.clock.now += 60.0
    two.poll()
    assert two.poller.waits_for() == ""


def test_a_reload_keeps_the_readiness(tenancies: Callable[..., TwoTenancies]) -> None:
    two = tenancies()
    two.poll()
    two.reload(beta={"network": "lab"})
    assert two.poller.waits_for() == ""
    two.poller.reload()()
    assert two.poller.waits_for() == ""


def test_a_reload_changes_one_account_and_the_counters_of_all_go_on(tenancies: Callable[..., TwoTenancies]) -> None:
    two = tenancies(beta={"network": "beta-net"})
    for _ in range(5):
        two.poll()
        two.clock.now += 60.0
    before = two.values("fss_mount_target_connections", "tenancy", "mount_target_id")
    counted = two.values("fss_mount_target_read_bytes_total", "tenancy", "mount_target_id")
    two.reload(beta={"network": "lab"})
    two.poll()
    assert set(two.values("fss_mount_target_connections", "tenancy", "mount_target_id")) == set(before)
    after = two.values("fss_mount_target_read_bytes_total", "tenancy", "mount_target_id")
    assert all(after[key] >= value for key, value in counted.items())
    assert {network for _, network in two.values("fss_mount_target_info", "tenancy", "network")} == {
        "eu-frankfurt-1",
        "lab",
    }


def test_what_a_reload_adds_counts_from_then_on_and_all_else_goes_on(tenancies: Callable[..., TwoTenancies]) -> None:
    """The last three hours of a mount target came in one poll, and looked like 180 times its load."""
    storage = {"compartments": ["storage"]}
    two = tenancies(beta=storage)

    def polled(minutes: int) -> dict[str, float]:
        for _ in range(minutes):
            two.clock.now += 60.0
            two.poll()
        counted = two.values("fss_mount_target_read_bytes_total", "tenancy", "mount_target")
        return {name: value for (tenancy, name), value in counted.items() if tenancy == BETA}

    def published(name: str, since: float) -> float:
        minutes = range(int(since // 60) + 1, int(two.clock.now // 60) + 1)
        points = (
            two.regions[BETA].truth("MountTargetReadThroughput", name, at, throughput="ReadThroughput")
            for at in minutes
        )
        return sum(60 * point for point in points if point is not None)

    began, counted = two.clock.now, 0.0
    for _ in range(2):  # the second time it is known
        assert "mt-scratch" not in polled(30)
        two.regions[BETA].add_fault("500:SummarizeMetricsData")
        polled(20)
        two.reload()
        two.regions[BETA].clear_faults()
        added = two.clock.now
        now = polled(4)
        assert now["mt-home"] == published("mt-home", began)
        assert now["mt-scratch"] == counted + published("mt-scratch", added) > counted
        counted = now["mt-scratch"]
        judged = two.values("fss_mount_target_verdicts_total", "tenancy", "mount_target", "objective", "verdict")
        assert judged[BETA, "mt-scratch", "availability", "unknown"] == 0
        two.reload(beta=storage)


def test_a_reload_shows_the_last_poll_until_oci_has_answered_with_the_new_settings(
    tenancies: Callable[..., TwoTenancies],
) -> None:
    two = tenancies(beta={"network": "beta-net"})
    for _ in range(3):
        two.poll()
        two.clock.now += 60.0
    before = {name: two.values(name, "tenancy", "mount_target_id") for name in SHOWN}
    assert all(before.values())
    two.reload(beta={"network": "lab"})
    assert {name: two.values(name, "tenancy", "mount_target_id").keys() for name in SHOWN} == {
        name: values.keys() for name, values in before.items()
    }
    assert (BETA, "beta-net") in two.values("fss_mount_target_info", "tenancy", "network"), "its own settings"
    assert two.poller.waits_for() == ""
    assert two.source.success
    two.regions[BETA].add_fault("500:SummarizeMetricsData")
    two.poll()
    assert (BETA, "beta-net") in two.values("fss_mount_target_info", "tenancy", "network"), "no answer yet"
    two.regions[BETA].clear_faults()
    two.clock.now += 60.0
    two.poll()
    assert {network for _, network in two.values("fss_mount_target_info", "tenancy", "network")} == {
        "eu-frankfurt-1",
        "lab",
    }


def test_what_a_reload_left_is_shown_no_longer_than_the_points_of_its_settings_live(
    tenancies: Callable[..., TwoTenancies],
) -> None:
    two = tenancies(beta={"network": "beta-net"})
    two.poll()
    two.reload(beta={"network": "lab"})
    two.regions[BETA].add_fault("500:SummarizeMetricsData")
    two.clock.now += two.settings.oci.stale_after + 1
    two.poll()
    assert two.values("fss_oci_poll_success", "tenancy")[BETA,] == 0


def test_a_reload_with_credentials_that_cannot_be_read_is_refused(
    tenancies: Callable[..., TwoTenancies], tmp_path: Path
) -> None:
    two = tenancies()
    two.poll()
    wrong = tmp_path / "wrong"
    for beta in ({"config_file": str(wrong)}, {"profile": "NOBODY", "network": "lab"}):
        two.configure(beta=beta)
        with pytest.raises(UsageError, match="the OCI credentials cannot be used"):
            two.poller.reload()
    (tmp_path / BETA / "config").write_text("[DEFAULT]\n")
    two.configure()
    next(iter((tmp_path / BETA).glob("*.pem"))).write_text("no key")
    with pytest.raises(UsageError, match="the OCI credentials cannot be used"):
        two.poller.reload()
    two.poll()
    assert two.values("fss_mount_target_connections", "tenancy").keys() == {(ACME,), (BETA,)}


def test_another_set_of_accounts_takes_a_restart(tenancies: Callable[..., TwoTenancies]) -> None:
    two = tenancies()
    two.settings = load(None, {"oci.accounts": two.accounts()[:1]})
    with pytest.raises(UsageError, match="restart"):
        two.poller.reload()


def test_ledgers_of_two_tenancies_in_one_directory_are_two_files(
    tenancies: Callable[..., TwoTenancies], tmp_path: Path
) -> None:
    two = tenancies()
    kept = tmp_path / "kept"
    kept.mkdir()
    two.settings = two.settings.model_copy(
        update={"oci": two.settings.oci.model_copy(update={"ledger_directory": kept})}
    )
    two.poller.reload()()
    two.poll()
    assert sorted(path.name for path in kept.iterdir()) == [
        f"fss-exporter-{name}-eu-frankfurt-1.ledger.json" for name in (ACME, BETA)
    ]


def test_the_status_page_names_the_tenancy_of_each_region(tenancies: Callable[..., TwoTenancies]) -> None:
    two = tenancies()
    two.regions[BETA].add_fault("500:SummarizeMetricsData")
    two.poll()
    families = collected(two.collectors)
    now = datetime.fromtimestamp(two.clock.now, UTC)
    page, _ = status_page(families, now=now, at=60.0, earlier=TimedScrape(0.0, Scraped()))
    assert {(row.region, row.success) for row in page.regions} == {
        ("acme eu-frankfurt-1", True),
        ("beta eu-frankfurt-1", False),
    }


@pytest.mark.parametrize(
    ("accounts", "says"),
    [
        ([{"profile": "A"}], "needs a name"),
        ([{"name": "a"}, {"name": "a"}], "same name"),
        ([{"name": "../a"}], "letters"),
        ([{"name": "a", "poll_interval": 60}], "unknown key"),
    ],
)
def test_wrong_accounts_are_mistakes_of_the_configuration(accounts: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load(None, {"oci.accounts": accounts})


def test_an_account_has_what_all_have_in_common_and_replaces_what_it_names() -> None:
    shared = {"auth": "instance_principal", "calls_per_second": 2.0, "poll_interval": 120.0}
    accounts = [{"name": "a"}, {"name": "b", "auth": "config_file", "regions": ["eu-zurich-1"]}]
    a, b = load(None, {"oci": {**shared, "accounts": accounts}}).each_account
    assert (a.oci.name, a.oci.auth, a.oci.regions, a.oci.calls_per_second) == ("a", "instance_principal", (), 2.0)
    assert (b.oci.auth, b.oci.regions, b.oci.poll_interval) == ("config_file", ("eu-zurich-1",), 120.0)


def test_one_account_needs_no_list() -> None:
    (only,) = Settings().each_account
    assert only.oci.name is None


def test_a_flag_replaces_what_the_file_says_of_every_account(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text("oci:\n  accounts:\n  - {name: a, regions: [eu-zurich-1]}\n  - {name: b}\n")
    accounts = load(path, {"oci.regions": ("eu-frankfurt-1",)}).each_account
    assert [account.oci.regions for account in accounts] == [("eu-frankfurt-1",)] * 2


def test_accounts_are_chosen_by_name() -> None:
    settings = load(None, {"oci.accounts": [{"name": "a"}, {"name": "b"}]})
    assert [account.oci.name for account in settings.of_accounts(("b",)).each_account] == ["b"]
    with pytest.raises(UsageError, match="the accounts are a, b"):
        settings.of_accounts(("c",))
