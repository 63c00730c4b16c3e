"""Read settings from one YAML file and from flags. One error names every mistake with its place.

The module opens no connection and does not import the OCI SDK. A file contains no secrets, only paths of keys and
certificates. A duration is a number of seconds, or text like 500ms, 90s or 1m30s.
"""

import ipaddress
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from fss_exporter.auth_kinds import AUTH_KINDS
from fss_exporter.durations import parse_duration
from fss_exporter.errors import ConfigError
from fss_exporter.model.cost_overrides import CostOverride, CostOverrides
from fss_exporter.model.limits import SHAPES
from fss_exporter.model.operations import NFS3_OPERATIONS
from fss_exporter.model.server_estimate import SIZE_BUCKETS
from fss_exporter.model.service_table import SERVICES
from fss_exporter.model.thresholds import DEFAULT_LATENCY_SECONDS
from fss_exporter.yaml_lines import Document, mistakes_of, read_document


def _seconds(value: object) -> object:
    return parse_duration(value.strip()) if isinstance(value, str) else value


def _latency(value: object) -> object:
    """Return the seconds of a latency. A unit is required, because a bare 8 more often means milliseconds than seconds."""
    if isinstance(value, int | float) and value > 0:
        raise ValueError(f"{value:g} has no unit; write it like {value:g}ms or {value:g}s")
    return _seconds(value)


def _address(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise ValueError("must be an IP address") from None


def _shape(value: str) -> str:
    if value not in SHAPES and not re.fullmatch(r"hpmt-[1-9]\d*", value):
        raise ValueError(f"must be a shape: {', '.join(SHAPES)}")
    return value


def _ocid(value: str) -> str:
    if not re.fullmatch(r"ocid1\.[a-z0-9]+\.[A-Za-z0-9._-]+", value):
        raise ValueError("must be an OCID (ocid1.<type>....)")
    return value


def _capacity(value: object) -> object:
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([GTP])(i?)B", value.strip())
    if found is None:
        raise ValueError(f"{value!r} is not a capacity; write it like 800GB, 40TB or 10TiB")
    power = "GTP".index(found[2]) + 3
    return float(found[1]) * (1024 if found[3] else 1000) ** power


def _size_bucket(value: str) -> str:
    if value not in SIZE_BUCKETS:
        raise ValueError(f"must be a size as OCI Monitoring has it: {', '.join(SIZE_BUCKETS)}")
    return value


def _service(value: str) -> str:
    if value not in SERVICES:
        raise ValueError(f"must be a service: {', '.join(SERVICES)}")
    return value


def _auth(value: str) -> str:
    if value not in AUTH_KINDS:
        raise ValueError(f"must be one of {', '.join(AUTH_KINDS)}")
    return value


def _endpoint(value: str) -> str:
    if not re.fullmatch(r"https?://[A-Za-z0-9.{}_-]+(:\d+)?/?", value) or value.replace("{region}", "").count("{"):
        raise ValueError("must be a URL without path, as in https://telemetry.{region}.oci.example.com")
    return value.rstrip("/")


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False)]
Latency = Annotated[float, BeforeValidator(_latency), Field(gt=0, allow_inf_nan=False)]
Address = Annotated[str, AfterValidator(_address)]
Ocid = Annotated[str, AfterValidator(_ocid)]
Auth = Annotated[str, AfterValidator(_auth)]
Endpoint = Annotated[str, AfterValidator(_endpoint)]
Region = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Name = Annotated[str, Field(min_length=1)]
Limit = Annotated[float, Field(gt=0, allow_inf_nan=False)] | None
Share = Annotated[float, Field(gt=0, lt=1)]
SizeBucket = Annotated[str, AfterValidator(_size_bucket)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Endpoints(_Section):
    """Base URL of each service, if the SDK's own URL is not wanted. `{region}` is replaced by the region."""

    monitoring: Endpoint | None = None
    monitoring_ingestion: Endpoint | None = None
    file_storage: Endpoint | None = None
    identity: Endpoint | None = None
    virtual_network: Endpoint | None = None
    limits: Endpoint | None = None
    lustre_file_storage: Endpoint | None = None
    block_storage: Endpoint | None = None


class Tags(_Section):
    """Tags by key: `key` is a freeform tag, `namespace.key` a defined one."""

    tags: dict[Name, str] = Field(default_factory=dict)


class Oci(_Section):
    """Account, credentials and pace of the poller."""

    auth: Auth = "config_file"
    config_file: Path = Path("~/.oci/config")
    profile: Name = "DEFAULT"
    tenancy: Ocid | None = None
    regions: tuple[Region, ...] = ()
    compartments: tuple[Name, ...] = ()
    include: Tags = Tags()
    exclude: Tags = Tags()
    endpoint: Endpoint | None = None
    endpoints: Endpoints = Endpoints()
    poll_interval: Seconds = 60.0
    inventory_interval: Seconds = 600.0
    stale_after: Seconds = 360.0
    calls_per_second: Annotated[float, Field(gt=0, lt=10)] = 5.0
    publish: bool = False
    services: tuple[Literal["lustre", "block-volume"], ...] | None = None
    connect_timeout: Seconds = 3.0
    read_timeout: Seconds = 10.0
    answer_timeout: Seconds = 30.0

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.poll_interval < 10:
            raise ValueError("poll_interval must be at least 10 s: OCI has one point a minute")
        if self.stale_after < self.poll_interval + 180:
            raise ValueError("stale_after must be at least poll_interval + 3m: points arrive up to three minutes late")
        return self


class LimitOverrides(_Section):
    """Limits that replace the published limits. null removes a limit."""

    iops: Limit = None
    read_bytes_per_second: Limit = None
    write_bytes_per_second: Limit = None
    connections: Limit = None
    encrypted_connections: Limit = None

    @property
    def given(self) -> dict[str, float | None]:
        """The limits in the file, null included."""
        return self.model_dump(exclude_unset=True)


class LimitSettings(_Section):
    """Limits by shape, and by mount target (OCID or display name). The limit of a mount target wins."""

    shapes: dict[Annotated[str, AfterValidator(_shape)], LimitOverrides] = Field(default_factory=dict)
    mount_targets: dict[Name, LimitOverrides] = Field(default_factory=dict)


class LatencyObjectives(_Section):
    """Latency objectives that replace the project's assumptions."""

    read: dict[SizeBucket, Latency] = Field(default_factory=dict)
    write: dict[SizeBucket, Latency] = Field(default_factory=dict)
    metadata: Latency | None = None

    @property
    def given(self) -> dict[tuple[str, str], float]:
        """Seconds of the objectives in the file, by kind and size."""
        reads = {("read", size): seconds for size, seconds in self.read.items()}
        writes = {("write", size): seconds for size, seconds in self.write.items()}
        return reads | writes | ({} if self.metadata is None else {("metadata", ""): self.metadata})


class LatencySettings(LatencyObjectives):
    """Latency objectives of every mount target, and by mount target (OCID or display name). The objective of a mount
    target wins.
    """

    mount_targets: dict[Name, LatencyObjectives] = Field(default_factory=dict)

    @property
    def seconds(self) -> dict[tuple[str, str], float]:
        """Objectives of mount targets without an objective of their own, by kind and size."""
        return {**DEFAULT_LATENCY_SECONDS, **self.given}


class SloObjectives(_Section):
    """Promised share of good minutes, above 0 and below 1."""

    availability: Share | None = None
    latency: Share | None = None

    @property
    def given(self) -> dict[str, float]:
        """The objectives in the file, by SLO."""
        return self.model_dump(exclude_none=True, include={"availability", "latency"})


class SloSettings(SloObjectives):
    """SLO objectives of every mount target, and by mount target (OCID or display name). The objective of a mount target
    wins.
    """

    mount_targets: dict[Name, SloObjectives] = Field(default_factory=dict)


class ServiceSettings(_Section):
    """The storage service of some mounts, matched by address, server or export. `*` matches any text."""

    service: Annotated[str, AfterValidator(_service)]
    address: Name | None = None
    server: Name | None = None
    export: Name | None = None
    type: Name | None = None
    capacity: Annotated[float, BeforeValidator(_capacity), Field(gt=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.address is self.server is self.export is None:
            raise ValueError("name the mounts by address, server or export")
        kinds = SERVICES[self.service].kinds
        if self.type is not None and self.type not in kinds:
            raise ValueError(f"type must be one of {', '.join(kinds)}" if kinds else f"{self.service} has no types")
        if self.type is not None and self.capacity is None and kinds[self.type].needs_capacity:
            raise ValueError(f"the ceilings of {self.service} {self.type} depend on the capacity: give it")
        return self


class CostOverrideSettings(_Section):
    """A measured cost of one operation, with date and source."""

    io_operations: Annotated[float, Field(ge=0, le=1000)] | None = None
    factor: Annotated[float, Field(gt=0, le=100)] | None = None
    date: date
    source: Name

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.io_operations is None) is (self.factor is None):
            raise ValueError("give io_operations, or factor for READ and WRITE")
        return self


def _fixed_cost(operations: dict[str, CostOverrideSettings]) -> dict[str, CostOverrideSettings]:
    for name, given in operations.items():
        if name not in NFS3_OPERATIONS:
            raise ValueError(f"{name} is no operation of NFSv3")
        if (given.factor is not None) is not (NFS3_OPERATIONS[name].io_operations is None):
            raise ValueError(f"{name} needs {'factor' if given.factor is None else 'io_operations'}")
    return operations


class CostModelSettings(_Section):
    """Costs that replace the white paper's table, by operation; `fss-exporter calibrate --output config` writes them."""

    operations: Annotated[dict[Name, CostOverrideSettings], AfterValidator(_fixed_cost)] = Field(default_factory=dict)

    @property
    def overrides(self) -> CostOverrides:
        """The overrides as records of the model."""
        return CostOverrides(
            tuple(
                CostOverride(name, one.io_operations, one.factor or 1.0, one.date.isoformat(), one.source)
                for name, one in self.operations.items()
            )
        )


class Settings(_Section):
    """The whole configuration."""

    oci: Oci = Oci()  # account, credentials and pace of the poller
    limits: LimitSettings = LimitSettings()  # limits that replace the published limits
    latency_objectives: LatencySettings = LatencySettings()  # latencies that replace the assumed latencies
    slo_objectives: SloSettings = SloSettings()  # shares of good minutes that replace the defaults
    # mount-target address by the address that a client mounts, for example of a TLS forwarder
    address_map: dict[Address, Name] = Field(default_factory=dict)
    # address for the join by OCID of a mount target, if two mount targets share an address
    addresses: dict[Ocid, Name] = Field(default_factory=dict)
    # storage services of mounts outside OCI File Storage. The first match counts
    services: tuple[ServiceSettings, ...] = ()
    cost_model: CostModelSettings = CostModelSettings()  # measured costs in place of the white paper's table


def load(path: Path | None, flags: Mapping[str, object] | None = None) -> Settings:
    """Read settings from a file and replace values by flags.

    Args:
        path: the file. None for the defaults alone.
        flags: value by dotted place, e.g. `{"oci.auth": "instance_principal"}`. None values are ignored.

    Raises:
        ConfigError: every mistake of the file, with line and place.
    """
    document = read_document(path) if path is not None else Document("flags", {}, {})
    content = document.content
    for place, value in (flags or {}).items():
        if value is not None:
            content = _with(content, place.split("."), value)
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise ConfigError(document.source, mistakes_of(error, document, Settings)) from error


def _with(content: Mapping[str, object], place: list[str], value: object) -> dict[str, object]:
    key, *rest = place
    if not rest:
        return {**content, key: value}
    inner = content.get(key)
    return {**content, key: _with(inner if isinstance(inner, Mapping) else {}, rest, value)}
