"""The configuration file: every mistake at once, with its line, and nothing half-read."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from fss_exporter.addresses import one_spelling
from fss_exporter.errors import ConfigError, UsageError
from fss_exporter.model.thresholds import SLO_OBJECTIVES
from fss_exporter.settings import Settings, load

EXAMPLE = Path(__file__).parents[2] / "deploy" / "fss-exporter.example.yml"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fss-exporter.yml"


def mistakes(path: Path, text: str) -> tuple[str, ...]:
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert all(line.startswith(f"{path}: ") for line in str(caught.value).splitlines())
    return tuple(line.removeprefix(f"{path}: ") for line in caught.value.lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("oci: {", "line 1, column 7: not YAML"),
        ("a: b: c", "line 1, column 5: not YAML"),
        ("- oci", "line 1: should be a mapping, as in {key: value}"),
        ("just text", "line 1: should be a mapping, as in {key: value}"),
        ("oci:\n  auth: x\noci:\n  profile: y\n", "line 3: oci: given twice"),
        ("oci:\n  auth: password\n", "line 2: oci.auth: must be one of config_file"),
        ("oci:\n  auth: 3\n", "line 2: oci.auth: must be one of config_file"),
        ("oci:\n  auth: [config_file]\n", "line 2: oci.auth: must be one of config_file"),
        ("oci:\n  regoins: [a]\n", "line 2: oci.regoins: unknown key. Did you mean regions?"),
        ("ocu: {}\n", "line 1: ocu: unknown key. Did you mean oci?"),
        ("oci:\n", "line 1: oci: should be a mapping, as in {key: value}"),
        ("oci:\n  config_file: 5\n", "line 2: oci.config_file: should be a path"),
        ("oci:\n  profile: ''\n", "line 2: oci.profile: must not be empty"),
        ("zzz: {}\n", "line 1: zzz: unknown key. Known keys: address_map, addresses"),
        ("oci:\n  poll_interval: soon\n", "line 2: oci.poll_interval: 'soon' is not a length of time"),
        ("oci:\n  poll_interval: -5\n", "line 2: oci.poll_interval: should be greater than 0"),
        (
            "oci:\n  connect_timeout: 1.0e+12\n",
            "line 2: oci.connect_timeout: should be less than or equal to 315360000",
        ),
        ("oci:\n  poll_interval: 5s\n", "line 1: oci: poll_interval must be at least 10 s"),
        ("oci:\n  stale_after: 2m\n", "line 1: oci: stale_after must be at least poll_interval + 3m"),
        ("oci:\n  calls_per_second: 10\n", "line 2: oci.calls_per_second: should be less than 10"),
        ("oci:\n  calls_per_second: yes\n", "line 2: oci.calls_per_second: should be a number"),
        ("oci:\n  read_timeout: on\n", "line 2: oci.read_timeout: should be a number"),
        (
            "limits:\n  shapes:\n    hpmt-20:\n      iops: true\n",
            "line 4: limits.shapes.hpmt-20.iops: should be a number",
        ),
        ("slo_objectives:\n  latency: true\n", "line 2: slo_objectives.latency: should be a number"),
        (
            "cost_model:\n  operations:\n    CREATE:\n      io_operations: yes\n",
            "line 4: cost_model.operations.CREATE.io_operations: should be a number",
        ),
        ("oci:\n  2: x\n", "line 2: oci.2: Keys should be strings"),
        ("oci:\n  calls_per_second: .nan\n", "line 2: oci.calls_per_second: should be"),
        ("oci:\n  tenancy: mine\n", "line 2: oci.tenancy: must be an OCID"),
        ("oci:\n  regions:\n  - eu-frankfurt-1\n  - 'Frankfurt!'\n", "line 4: oci.regions[1]: must be a region, as in"),
        ("oci:\n  endpoint: http://[::1]:80\n", "line 2: oci.endpoint: the SDK of OCI takes no IPv6 address here"),
        ("oci:\n  endpoint: https://a}b\n", "line 2: oci.endpoint: must be a URL without path"),
        ("oci:\n  endpoint: http://x:99999\n", "line 2: oci.endpoint: the port must be from 1 to 65535"),
        (f"oci:\n  endpoint: http://x:{'9' * 5000}\n", "line 2: oci.endpoint: must be a URL without path"),
        ("oci:\n  endpoint: ftp://x\n", "line 2: oci.endpoint: must be a URL"),
        ("oci:\n  endpoint: 'https://user:secret@x'\n", "line 2: oci.endpoint: must be a URL"),
        ("oci:\n  endpoints:\n    identity: 'https://x/{realm}'\n", "line 3: oci.endpoints.identity: must be a URL"),
        ("limits: seen\n", "line 1: limits: should be a mapping, or observed"),
        ("limits:\n  observed: 3\n", "line 2: limits.observed: "),
        ("limits:\n  shapes:\n    hpmt-2O:\n      iops: 1\n", "line 3: limits.shapes.hpmt-2O: must be a shape"),
        ("limits:\n  shapes:\n    hpmt-20:\n      iops: 0\n", "line 4: limits.shapes.hpmt-20.iops: should be greater"),
        (
            "limits:\n  mount_targets:\n    mt:\n      iop: 1\n",
            "line 4: limits.mount_targets.mt.iop: unknown key. Did you mean iops?",
        ),
        (
            "latency_objectives:\n  read:\n    4KiB: 1ms\n",
            "line 3: latency_objectives.read.4KiB: must be a size as OCI Monitoring has it: 0B_to_8KiB",
        ),
        (
            "latency_objectives:\n  mount_targets:\n    mt-home:\n      metdata: 5ms\n",
            "line 4: latency_objectives.mount_targets.mt-home.metdata: unknown key. Did you mean metadata?",
        ),
        (
            "slo_objectives:\n  availability: 99.5\n",
            "line 2: slo_objectives.availability: 99.5 is no share. Write 99.5 % as 0.995",
        ),
        ("slo_objectives:\n  availability: 1\n", "line 2: slo_objectives.availability: should be less than 1"),
        ("warning_ratio: 80\n", "line 1: warning_ratio: 80 is no share. Write 80 % as 0.8"),
        ("warning_ratio: 80%\n", "line 1: warning_ratio: 80% is no share. Write 80 % as 0.8"),
        ("warning_ratio: 1.01\n", "line 1: warning_ratio: should be less than 0.95"),
        ("warning_ratio: -80%\n", "line 1: warning_ratio: should be a number"),
        (
            "oci:\n  include:\n    tags: {team: yes}\n",
            "line 3: oci.include.tags.team: should be text: put it in quotes",
        ),
        (
            "oci:\n  tags_as_labels: [team, Cost.unit, TEAM]\n",
            "line 2: oci.tags_as_labels: 'team' and 'TEAM' both become the label tag_team. Keep one of them",
        ),
        (
            "oci:\n  tags_as_labels: [Cost.unit, cost_unit]\n",
            "line 2: oci.tags_as_labels: 'Cost.unit' and 'cost_unit' both become the label tag_cost_unit",
        ),
        (
            f"oci:\n  tags_as_labels: {list('abcdefghijk')}\n",
            "line 2: oci.tags_as_labels: 11 tags are too many. Keep the 10 that",
        ),
        ("limits:\n  mount_targets: observed\n", "line 2: limits.mount_targets: should be a mapping, as in"),
        (
            "slo_objectives:\n  mount_targets:\n    mt-home:\n      latency: 0\n",
            "line 4: slo_objectives.mount_targets.mt-home.latency: should be greater than 0",
        ),
        (
            "limits:\n  mount_targets:\n    mt:\n      encrypted_connections: -1\n",
            "line 4: limits.mount_targets.mt.encrypted_connections: should be greater than 0",
        ),
        ("oci:\n  regions: eu-frankfurt-1\n", "line 2: oci.regions: should be a list, as in [a, b]"),
        (
            "latency_objectives:\n  metadata: 8\n",
            "line 2: latency_objectives.metadata: 8 has no unit. Write it like 8ms or 8s",
        ),
        (
            "latency_objectives:\n  read:\n    0B_to_8KiB: 0.5\n",
            "line 3: latency_objectives.read.0B_to_8KiB: 0.5 has no unit",
        ),
        ("latency_objectives:\n  metadata: true\n", "line 2: latency_objectives.metadata"),
        ("latency_objectives:\n  metadata: '8'\n", "line 2: latency_objectives.metadata: '8' is not a length of time"),
        (
            "latency_objectives:\n  p99:\n    reads: 50ms\n",
            "line 3: latency_objectives.p99.reads: unknown key. Did you mean read?",
        ),
        ("latency_objectives:\n  p99:\n    read: 50\n", "line 3: latency_objectives.p99.read: 50 has no unit"),
        ("latency_objectives:\n  metadata: 0\n", "line 2: latency_objectives.metadata: should be greater than 0"),
        (
            "oci:\n  regions: [eu-frankfurt]\n",
            "line 2: oci.regions[0]: must be a region, as in eu-frankfurt-1. Did you mean eu-frankfurt-1?",
        ),
        ("address_map:\n  192.168.255.2: 10.80.1.300\n", "line 2: address_map.192.168.255.2: must be an IP address"),
        (
            "address_map:\n  10.80.1.300: 10.80.1.3\n",
            "line 2: address_map.10.80.1.300: must be an IP address",
        ),
        (
            "addresses:\n  ocid1.mounttarget.oc1..a: 10.80.1\n",
            "line 2: addresses.ocid1.mounttarget.oc1..a: must be an IP address",
        ),
        ("address_map:\n  forwarder: 10.0.0.1\n", "line 2: address_map.forwarder: must be an IP address"),
        ("oci:\n  networks:\n    vcn-lab: lab\n", "line 3: oci.networks.vcn-lab: must be the OCID of a VCN"),
        ("oci:\n  networks:\n    ocid1.vcn.oc1..a: unknown\n", "line 3: oci.networks.ocid1.vcn.oc1..a: must be a name"),
        ("oci:\n  network: 'a b'\n", "line 2: oci.network: must be a name for a network"),
        ("addresses:\n  mt-home: 10.0.0.1\n", "line 2: addresses.mt-home: must be an OCID"),
        (
            "services:\n  - service: nas\n    address: 10.0.0.1\n",
            "line 2: services[0].service: must be a service: oci-fss",
        ),
        ("services:\n  - service: none\n", "line 2: services[0]: name the mounts"),
        (
            "services:\n  - service: apsara-nas\n    server: x\n    type: fast\n",
            "line 2: services[0]: type must be one of capacity",
        ),
        ("services:\n  - service: none\n    server: x\n    type: fast\n", "line 2: services[0]: none has no types"),
        (
            "services:\n  - service: lustre\n    address: x\n    type: mbps-per-tb-125\n",
            "line 2: services[0]: the ceilings of lustre mbps-per-tb-125 depend on the capacity",
        ),
        (
            "services:\n  - service: none\n    server: x\n    capacity: much\n",
            "line 4: services[0].capacity: 'much' is not a capacity",
        ),
        (
            "services:\n  - service: none\n    server: x\n    capacity: 10\n",
            "line 4: services[0].capacity: 10 is in bytes. Write it like 800GB, 40TB or 10TiB",
        ),
        (
            "services:\n  - service: none\n    server: x\n    capacity: -1\n",
            "line 4: services[0].capacity: should be greater than 0",
        ),
        ("oci: &a\n  include: *a\n", "line 2: oci.include.include: unknown key"),
    ],
    ids=lambda value: value.splitlines()[0] if isinstance(value, str) else "",
)
def test_a_mistake_is_reported_with_its_place(path: Path, text: str, expected: str) -> None:
    assert any(mistake.startswith(expected) for mistake in mistakes(path, text))


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(path: Path) -> None:
    text = "oci:\n  auth: x\n  profil: y\nlimits:\n  shapes:\n    slow: {}\naddress_map:\n  a: b\n"
    lines = [mistake.split(":")[0] for mistake in mistakes(path, text)]
    assert lines == ["line 2", "line 3", "line 6", "line 8"]


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"\xff\xfe oci", "not UTF-8"), (b"a: 1\n" * 300_000, "larger than 1 MiB"), (b"a: \x07\n", "not YAML")],
    ids=["another encoding", "another file", "control characters"],
)
def test_what_is_no_configuration_is_reported(path: Path, content: bytes, says: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=says):
        load(path)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "absent.yml")
    with pytest.raises(ConfigError, match="Is a directory"):
        load(tmp_path)


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", "{}"])
def test_an_empty_file_is_the_defaults(path: Path, text: str) -> None:
    path.write_text(text)
    assert load(path) == Settings() == load(None)


def test_the_shipped_example_is_correct_and_is_the_defaults() -> None:
    example, defaults = load(EXAMPLE), Settings()
    assert example.oci == defaults.oci
    assert example.limits == defaults.limits
    assert example.latency_objectives.seconds == defaults.latency_objectives.seconds
    assert example.slo_objectives.given == SLO_OBJECTIVES
    assert (example.address_map, example.addresses, example.services) == ({}, {}, ())


def test_the_shipped_example_shows_every_key() -> None:
    text = EXAMPLE.read_text()

    def keys(model: type[BaseModel]) -> set[str]:
        names = set()
        for name, field in model.model_fields.items():
            names.add(name)
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                names |= keys(field.annotation)
        return names

    assert [key for key in sorted(keys(Settings)) if f"{key}:" not in text] == []


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("1m30s", 90.0), ("1.5m", 90.0), ("90000ms", 90.0)]
)
def test_durations_are_seconds_or_text_with_a_unit(path: Path, text: str, seconds: float) -> None:
    path.write_text(f"oci:\n  poll_interval: {text}\n")
    assert load(path).oci.poll_interval == seconds


def test_a_ceiling_that_is_null_is_given_and_one_that_is_absent_is_not(path: Path) -> None:
    path.write_text("limits:\n  shapes:\n    standard:\n      iops: null\n      connections: 64\n")
    assert load(path).limits.shapes["standard"].given == {"iops": None, "connections": 64.0}


def test_observed_limits_have_a_short_form(path: Path) -> None:
    path.write_text("limits: observed\n")
    short = load(path).limits
    path.write_text("limits:\n  observed: true\n  mount_targets:\n    mt-home: {iops: 80000}\n")
    assert short.observed
    assert load(path).limits.observed
    assert not Settings().limits.observed


def test_mistakes_in_limits_and_objectives_are_reported_together(path: Path) -> None:
    text = (
        "slo_objectives: {latency: 2}\nlatency_objectives:\n  mount_targets: {mt: {write: 5ms}}\nlimits: {shape: {}}\n"
    )
    told = mistakes(path, text)
    assert [line.split(": ")[1] for line in told] == [
        "slo_objectives.latency",
        "latency_objectives.mount_targets.mt.write",
        "limits.shape",
    ]


def test_objectives_replace_the_assumed_ones_one_by_one(path: Path) -> None:
    path.write_text("latency_objectives:\n  read:\n    0B_to_8KiB: 2ms\n  metadata: 5ms\n")
    before, after = Settings().latency_objectives.seconds, load(path).latency_objectives.seconds
    changed = {key: value for key, value in after.items() if before[key] != value}
    assert changed == {("read", "0B_to_8KiB"): 0.002, ("metadata", ""): 0.005}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("800GB", 8e11),
        ("40TB", 4e13),
        ("10TiB", 10 * 1024.0**4),
        ("1.5 PB", 1.5e15),
        ("8e11", None),
        ("800000000000", 8e11),
    ],
)
def test_a_capacity_is_bytes_or_text_with_a_unit(path: Path, text: str, value: float | None) -> None:
    path.write_text(f"services:\n  - service: none\n    server: x\n    capacity: {text}\n")
    if value is None:
        with pytest.raises(ConfigError, match="not a capacity"):
            load(path)
    else:
        assert load(path).services[0].capacity == value


def test_flags_win_over_the_file_and_absent_flags_do_not(path: Path) -> None:
    path.write_text("oci:\n  auth: instance_principal\n  profile: FILE\n")
    oci = load(path, {"oci.profile": "FLAG", "oci.auth": None, "oci.regions": ("eu-zurich-1",)}).oci
    assert (oci.auth, oci.profile, oci.regions) == ("instance_principal", "FLAG", ("eu-zurich-1",))


def test_a_flag_hides_no_mistake_of_the_file(path: Path) -> None:
    path.write_text("oci: 5\n")
    with pytest.raises(ConfigError, match="line 1: oci: "):
        load(path, {"oci.profile": "A"})


def test_a_wrong_flag_is_reported_without_a_line() -> None:
    with pytest.raises(UsageError, match=r"flags: oci\.auth: must be"):
        load(None, {"oci.auth": "password"})


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
        file.flush()
        with suppress(ConfigError):
            assert isinstance(load(Path(file.name)), Settings)


def test_an_ipv4_address_written_as_ipv6_joins_as_ipv4(path: Path) -> None:
    path.write_text('address_map:\n  "::ffff:192.168.255.2": "::ffff:10.80.1.10"\n')
    assert load(path).address_map == {"192.168.255.2": "10.80.1.10"}


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("2001:0DB8:0:0::0009", "2001:db8::9"),
        ("fe80::1%eth0", "fe80::1"),
        ("::FFFF:10.0.0.9", "10.0.0.9"),
        ("no address", "no address"),
    ],
)
def test_an_address_has_one_spelling(written: str, spelled: str) -> None:
    assert one_spelling(written) == spelled
