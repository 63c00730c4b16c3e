"""Pages in situations that are long, rare or half known, by promtool on the shipped rules."""

from pathlib import Path

from tests.rules.runner import judged
from tests.rules.site import Scrapes
from tests.rules.test_networks import holds

MOUNT_TARGET = 'tenancy="t",region="eu",mount_target_id="mt-a"'
PLACE = 'network="eu",address="10.0.0.1"'
SUBJECT = {
    "series": f'address:fss_subject:info{{{PLACE},{MOUNT_TARGET},subject="Mount target a (10.0.0.1, eu)"}}',
    "values": "1x20",
}
FAILED = {
    "series": f'fss_mount_target_info{{{PLACE},{MOUNT_TARGET},mount_target="a",state="FAILED"}}',
    "values": "1x20",
}


def test_clients_page_by_the_default_objectives_where_the_poller_stopped_long_ago(tmp_path: Path) -> None:
    """The name of the mount target is kept for twelve hours, and its objectives for six."""
    failing = {"series": f"address:fss_client_state:max{{{PLACE}}}", "values": "4x20"}

    holds(tmp_path, [SUBJECT, failing], {'count(slo:fss_page:max{page="failing"})': 1.0}, "service_level.yml")


def test_a_mount_target_that_has_failed_is_down_until_it_works_though_it_has_no_connections(tmp_path: Path) -> None:
    before = {"series": f'slo:fss_clients_down:count{{{PLACE},{MOUNT_TARGET},source="oci"}}', "values": "0x3"}

    holds(tmp_path, [FAILED, before], {'count(slo:fss_page:max{page="down"})': 1.0}, "service_level.yml")


def test_oci_and_clients_of_node_exporter_tell_of_one_mount_target_once(tmp_path: Path) -> None:
    of_oci = f'slo:fss_clients_down:count{{{PLACE},{MOUNT_TARGET},source="oci"}}'
    of_clients = f'slo:fss_clients_down:count{{address="10.0.0.1",{MOUNT_TARGET},source="clients"}}'
    series = [{"series": of_oci, "values": "0x20"}, {"series": of_clients, "values": "3x20"}]

    holds(tmp_path, series, {'count(slo:fss_page:max{page="down"})': 1.0}, "service_level.yml")


def test_clients_without_a_reply_explain_no_requests_that_fail_by_oci(tmp_path: Path) -> None:
    hanging = {"series": f'address_state:fss_clients:ratio{{{PLACE},state="hanging"}}', "values": "0.3x20"}
    failing = {"series": f"fss_mount_target_success_ratio{{{MOUNT_TARGET}}}", "values": "0.6x20"}
    told = 'count(address:fss_evidence:ratio{says="at the worst no reply came to"})'

    holds(tmp_path, [SUBJECT, hanging], {told: 1.0})
    holds(tmp_path, [SUBJECT, hanging, failing], {told: 0.0})


def test_mount_targets_without_an_address_have_pages_of_their_own_names_and_figures() -> None:
    scrapes = Scrapes(60, 0)
    for minute in range(30):
        lines = []
        for name, success in (("mt-1", 0.6), ("mt-2", 0.2)):
            labels = f'tenancy="t",region="eu",mount_target_id="{name}",mount_target="{name}"'
            lines += [
                f'fss_mount_target_info{{{labels},network="eu",address="",state="ACTIVE"}} 1',
                f'fss_mount_target_verdicts_total{{{labels},objective="availability",verdict="bad"}} {minute}',
                f"fss_mount_target_success_ratio{{{labels}}} {success}",
            ]
        scrapes.add("\n".join(lines), ['instance="poller-0:10949",job="fss"'])
        scrapes.end()

    said = judged(scrapes, ["vector(1)"], [("FssMountTargetFailing", 25.0)]).texts["FssMountTargetFailing", 25.0]

    texts = sorted(text.strip() for text in said.split("Check quotas, export options and identity services.") if text)
    assert [(text.partition(" had ")[0], text.rpartition(": ")[2]) for text in texts] == [
        ("Mount target mt-1 (eu)", "OCI says that 40% of all requests failed."),
        ("Mount target mt-2 (eu)", "OCI says that 80% of all requests failed."),
    ]
