# SPDX-License-Identifier: Apache-2.0
"""Read settings from one YAML file and from flags. One error names every mistake with its place.

The module opens no connection and does not import the OCI SDK. A file contains no secrets, only paths of keys and
certificates. A duration is a number of seconds, or text like 500ms, 90s or 1m30s.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from fss_exporter import setting_types as types
from fss_exporter.errors import ConfigError, UsageError
from fss_exporter.model.cost_overrides import NLM, CostOverride, CostOverrides
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import NFS3_OPERATIONS, READ, WRITE
from fss_exporter.model.service_table import SERVICES
from fss_exporter.model.thresholds import DEFAULT_LATENCY_SECONDS, WARNING_RATIO
from fss_exporter.yaml_lines import Document, mistakes_of, read_document


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Endpoints(_Section):
    """Base URL of each service, if the SDK's own URL is not wanted. `{region}` is replaced by the region."""

    monitoring: types.Endpoint | None = None
    monitoring_ingestion: types.Endpoint | None = None
    file_storage: types.Endpoint | None = None
    identity: types.Endpoint | None = None
    virtual_network: types.Endpoint | None = None
    limits: types.Endpoint | None = None
    lustre_file_storage: types.Endpoint | None = None
    block_storage: types.Endpoint | None = None


class Tags(_Section):
    """Tags by key: `key` is a freeform tag, `namespace.key` a defined one."""

    tags: dict[types.Name, str] = Field(default_factory=dict)


class OciAccount(_Section):
    """One OCI account: credentials, regions, and the resources to watch in them."""

    name: types.AccountName | None = None  # value of the label `tenancy`. None for the OCID of the tenancy
    auth: types.Auth = "config_file"
    config_file: Path = Path("~/.oci/config")
    profile: types.Name = "DEFAULT"
    tenancy: types.Ocid | None = None
    regions: tuple[types.Region, ...] = ()
    compartments: tuple[types.Compartment, ...] = ()
    in_subtree: bool = False  # whether the compartments below those are polled as well
    include: Tags = Tags()
    exclude: Tags = Tags()
    endpoint: types.Endpoint | None = None
    endpoints: Endpoints = Endpoints()
    calls_per_second: Annotated[types.Number, Field(gt=0, lt=10)] = 5.0
    network: types.Network | None = None  # network of every mount target without a VCN below. None for the region
    networks: dict[types.Vcn, types.Network] = Field(default_factory=dict)  # network by VCN, where addresses repeat
    publish: bool = False
    services: tuple[Literal["lustre", "block-volume"], ...] | None = None


class Oci(OciAccount):
    """The account of the poller, or what its accounts have in common, and the pace of the poller."""

    # if there are any, only these are polled, and each takes from this record what it does not state
    accounts: tuple[OciAccount, ...] = ()
    tags_as_labels: types.TagsAsLabels = ()  # tags of mount targets and file systems that become labels
    shard: types.Shard = "1/1"  # the part of each account that this poller has
    poll_interval: types.Seconds = 60.0
    inventory_interval: types.Seconds = 600.0
    stale_after: types.Seconds = 600.0
    intervals: dict[types.OciMetricName, types.Seconds] = Field(default_factory=dict)  # between queries, by OCI metric
    ledger_directory: Path | None = None
    standby: bool = False  # poll only while no other poller with the same ledger_directory polls
    connect_timeout: types.Seconds = 3.0
    read_timeout: types.Seconds = 10.0
    answer_timeout: types.Seconds = 30.0

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.poll_interval < 10:
            raise ValueError("poll_interval must be at least 10 s: OCI has one point a minute")
        if self.stale_after < self.poll_interval + 180:
            raise ValueError("stale_after must be at least poll_interval + 3m: points arrive up to three minutes late")
        if self.standby and self.ledger_directory is None:
            raise ValueError("standby needs ledger_directory, which the pollers share")
        names = [account.name for account in self.accounts]
        if None in names:
            raise ValueError("each of accounts needs a name, which becomes the label tenancy")
        if len(set(names)) < len(names):
            raise ValueError("two of accounts have the same name")
        if self.accounts and self.name is not None:
            raise ValueError("name and accounts exclude each other: each of accounts has a name of its own")
        return self

    @property
    def each_account(self) -> "tuple[Oci, ...]":
        """The settings of each account alone. Without `accounts` these are the only one."""
        return tuple(
            self.model_copy(
                update={**{field: getattr(account, field) for field in account.model_fields_set}, "accounts": ()}
            )
            for account in self.accounts
        ) or (self,)


class LimitOverrides(_Section):
    """Limits that replace the published limits. null removes a limit."""

    iops: types.Limit = None
    read_bytes_per_second: types.Limit = None
    write_bytes_per_second: types.Limit = None
    connections: types.Limit = None
    encrypted_connections: types.Limit = None

    @cached_property
    def given(self) -> dict[str, float | None]:
        """The limits in the file, null included."""
        return self.model_dump(exclude_unset=True)


class LimitSettings(_Section):
    """Limits by shape, and by mount target (OCID or display name). The limit of a mount target wins.

    `limits: observed` is short for `observed: true`.
    """

    # whether the ceiling that the poller observed replaces the limit of the shape
    observed: bool = False
    shapes: dict[types.Shape, LimitOverrides] = Field(default_factory=dict)
    mount_targets: dict[types.Name, LimitOverrides] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _spelt_out(cls, given: object) -> object:
        if isinstance(given, str) and given != "observed":
            raise ValueError("should be a mapping, or observed")
        return {"observed": True} if given == "observed" else given

    def of_shape(self, name: str, published: Limits) -> Limits:
        """Return the published limits of a shape, with those of the file in their place."""
        given = self.shapes.get(name)
        return published if given is None else replace(published, **given.given)


class LatencyObjectives(_Section):
    """Latency objectives that replace the project's assumptions."""

    read: dict[types.SizeBucket, types.Latency] = Field(default_factory=dict)
    write: dict[types.SizeBucket, types.Latency] = Field(default_factory=dict)
    metadata: types.Latency | None = None

    @cached_property
    def given(self) -> dict[tuple[str, str], float]:
        """Seconds of the objectives in the file, by kind and size."""
        reads = {("read", size): seconds for size, seconds in self.read.items()}
        writes = {("write", size): seconds for size, seconds in self.write.items()}
        return reads | writes | ({} if self.metadata is None else {("metadata", ""): self.metadata})


class TailObjectives(_Section):
    """Latencies that 99 of 100 requests keep, for agents in exact mode. None of them is set by default."""

    read: types.Latency | None = None
    write: types.Latency | None = None
    metadata: types.Latency | None = None

    @cached_property
    def given(self) -> dict[tuple[str, str], float]:
        """Seconds of the objectives in the file, by kind. The size is empty."""
        return {(kind, ""): seconds for kind, seconds in self.model_dump(exclude_none=True).items()}


class LatencySettings(LatencyObjectives):
    """Latency objectives of every mount target, and by mount target (OCID or display name), which win."""

    p99: TailObjectives = TailObjectives()
    mount_targets: dict[types.Name, LatencyObjectives] = Field(default_factory=dict)

    @cached_property
    def seconds(self) -> dict[tuple[str, str], float]:
        """Objectives of mount targets without an objective of their own, by kind and size."""
        return {**DEFAULT_LATENCY_SECONDS, **self.given}


class SloObjectives(_Section):
    """Promised share of good minutes, above 0 and below 1."""

    availability: types.Share | None = None
    latency: types.Share | None = None

    @cached_property
    def given(self) -> dict[str, float]:
        """The objectives in the file, by SLO."""
        return self.model_dump(exclude_none=True, include={"availability", "latency"})


class SloSettings(SloObjectives):
    """SLO objectives of every mount target, and by mount target (OCID or display name), which win."""

    mount_targets: dict[types.Name, SloObjectives] = Field(default_factory=dict)


class ServiceSettings(_Section):
    """The storage service of some mounts, matched by address, server or export. `*` matches any text."""

    service: types.Service
    address: types.Name | None = None
    server: types.Name | None = None
    export: types.Name | None = None
    type: types.Name | None = None
    capacity: types.Capacity | None = None

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

    io_operations: Annotated[types.Number, Field(ge=0, le=1000)] | None = None
    factor: Annotated[types.Number, Field(gt=0, le=100)] | None = None
    date: date
    source: types.Name

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.io_operations is None) is (self.factor is None):
            raise ValueError("give io_operations, or factor for READ and WRITE")
        return self


def _fixed_cost(operations: dict[str, CostOverrideSettings]) -> dict[str, CostOverrideSettings]:
    for name, given in operations.items():
        if name != NLM and name not in NFS3_OPERATIONS:
            raise ValueError(f"{name} is no operation of NFSv3 and not NLM")
        if (given.factor is not None) is not (name in (READ, WRITE)):
            raise ValueError(f"{name} needs {'factor' if given.factor is None else 'io_operations'}")
    return operations


class CostModelSettings(_Section):
    """Costs that replace the white paper's table, by operation; `fss-exporter calibrate --output config` writes them."""

    operations: Annotated[dict[types.Name, CostOverrideSettings], AfterValidator(_fixed_cost)] = Field(
        default_factory=dict
    )

    @property
    def overrides(self) -> CostOverrides:
        """The overrides as records of the model."""
        return CostOverrides(
            tuple(
                CostOverride(name, cost.io_operations, cost.factor or 1.0, cost.date.isoformat(), cost.source)
                for name, cost in self.operations.items()
            )
        )


class Settings(_Section):
    """The whole configuration."""

    oci: Oci = Oci()  # account, credentials and pace of the poller
    warning_ratio: types.WarningRatio = WARNING_RATIO  # share of a ceiling or of a latency objective that is near
    limits: LimitSettings = LimitSettings()  # limits that replace the published limits
    latency_objectives: LatencySettings = LatencySettings()  # latencies that replace the assumed latencies
    slo_objectives: SloSettings = SloSettings()  # shares of good minutes that replace the defaults
    # mount-target address by the address that a client mounts, for example of a TLS forwarder
    address_map: dict[types.Address, types.JoinedAddress] = Field(default_factory=dict)
    # address that the clients of a mount target mount, by OCID, if it is not the address in OCI
    addresses: dict[types.Ocid, types.JoinedAddress] = Field(default_factory=dict)
    # storage services of mounts outside OCI File Storage. The first match counts
    services: tuple[ServiceSettings, ...] = ()
    cost_model: CostModelSettings = CostModelSettings()  # measured costs in place of the white paper's table

    @property
    def each_account(self) -> "tuple[Settings, ...]":
        """The configuration for each account alone."""
        return tuple(self.model_copy(update={"oci": oci}) for oci in self.oci.each_account)

    def of_accounts(self, names: Collection[str]) -> "Settings":
        """Return the configuration with only the accounts of these names. No name stands for all.

        Raises:
            UsageError: there is no such account.
        """
        if not names:
            return self
        accounts = {account.name: account for account in self.oci.accounts}
        for name in names:
            if name not in accounts:
                raise UsageError(
                    f"--oci.account={name}: the accounts are {', '.join(map(str, accounts)) or 'not named'}"
                )
        chosen = tuple(account for name, account in accounts.items() if name in names)
        return self.model_copy(update={"oci": self.oci.model_copy(update={"accounts": chosen})})


def load(path: Path | None, flags: Mapping[str, object] | None = None) -> Settings:
    """Read settings from a file (None for the defaults) and replace values by flags, unless a flag is None.

    Flags are by dotted place, e.g. `{"oci.auth": "instance_principal"}`.

    Raises:
        ConfigError: every mistake of the file, with line and place.
    """
    document = read_document(path) if path is not None else Document("flags", {}, {})
    content = document.content
    given = {place: value for place, value in (flags or {}).items() if value is not None}
    for place, value in given.items():
        content = _with(content, place.split("."), value)
    content = _without_in_accounts(content, {place.removeprefix("oci.") for place in given})
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise ConfigError(document.source, mistakes_of(error, document, Settings)) from error


def _with(content: Mapping[str, object], place: list[str], value: object) -> dict[str, object]:
    key, *rest = place
    if not rest:
        return {**content, key: value}
    inner = content.get(key, {})
    # Any value but a mapping stays, so that the check names the mistake.
    return {**content, key: _with(inner, rest, value) if isinstance(inner, Mapping) else inner}


def _without_in_accounts(content: Mapping[str, object], names: set[str]) -> Mapping[str, object]:
    """Return the content without these keys of the accounts, whose value is that of a flag."""
    oci = content.get("oci")
    accounts = oci.get("accounts") if isinstance(oci, Mapping) else None
    if not isinstance(oci, Mapping) or not isinstance(accounts, list):  # the check names the mistake
        return content
    left = [
        {key: value for key, value in account.items() if key not in names} if isinstance(account, Mapping) else account
        for account in accounts
    ]
    return {**content, "oci": {**oci, "accounts": left}}
