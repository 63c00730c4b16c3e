# SPDX-License-Identifier: Apache-2.0
"""Types of single settings. Each refuses a wrong value with a sentence that names the right form."""

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from fss_exporter import AUTH_KINDS
from fss_exporter.addresses import ip_text, network_name, one_spelling
from fss_exporter.durations import LONGEST_SECONDS, parse_duration
from fss_exporter.model.limits import SHAPES
from fss_exporter.model.server_estimate import SIZE_BUCKETS
from fss_exporter.model.service_table import SERVICES
from fss_exporter.model.thresholds import CRITICAL_RATIO
from fss_exporter.ocid import OCID, looks_like_ocid, pattern
from fss_exporter.shard import Shard as _Shard

_LEAST_PERCENT = (
    2  # a larger number where a share belongs is a percentage, and a smaller one is a share that is too large
)


def _number(value: object) -> object:
    """Refuse true and false, which pydantic takes for 1 and 0. YAML reads `yes` and `on` as true."""
    if isinstance(value, bool):
        raise ValueError("should be a number")  # noqa: TRY004  # pydantic takes a ValueError
    return value


def _share(value: object) -> object:
    """Refuse a percentage with the share that it is."""
    text = value.removesuffix("%").strip() if isinstance(value, str) and value.endswith("%") else value
    percent = re.fullmatch(r"\d{1,3}(?:\.\d*)?", str(text))
    if percent and (text is not value or float(percent[0]) >= _LEAST_PERCENT):
        raise ValueError(f"{value} is no share. Write {percent[0]} % as {float(percent[0]) / 100:g}")
    return value


def _seconds(value: object) -> object:
    return parse_duration(value.strip()) if isinstance(value, str) else value


def _latency(value: object) -> object:
    """Return the seconds of a latency. A unit is required, because a bare 8 more often means milliseconds than seconds."""
    if isinstance(value, int | float) and value > 0 and value is not True:
        raise ValueError(f"{value:g} has no unit. Write it like {value:g}ms or {value:g}s")
    return _seconds(value)


def _address(value: str) -> str:
    try:
        return ip_text(value)
    except ValueError:
        raise ValueError("must be an IP address") from None


def _joined_address(value: str) -> str:
    """Refuse a mistyped IP address. Another text is a name that a join compares."""
    return _address(value) if re.fullmatch(r"[\d.]+", value) else one_spelling(value)


def _region(value: str) -> str:
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-\d+", value):
        return value
    hint = f". Did you mean {value}-1?" if re.fullmatch(r"[a-z]{2}(-[a-z]+)+", value) else ""
    raise ValueError(f"must be a region, as in eu-frankfurt-1{hint}")


def _compartment(value: str) -> str:
    """Refuse what can name no compartment. Names have letters, digits, periods, hyphens and underscores (OCI, Renaming a Compartment)."""
    if looks_like_ocid(value):
        if re.fullmatch(pattern("(?:compartment|tenancy)"), value):
            return value
        raise ValueError("must be the OCID of a compartment or of the tenancy")
    if not re.fullmatch(r"[\w.-]+(:[\w.-]+)*", value):
        raise ValueError("must be the OCID, the name or the path of a compartment, as in storage:batch")
    return value


def _matching(pattern: str, form: str) -> AfterValidator:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"must be {form}")
        return value

    return AfterValidator(check)


def _one_of(allowed: Iterable[str], what: str = "one of") -> BeforeValidator:
    """Name the values also for what is no text, which quotes would not mend."""

    def check(value: object) -> object:
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(f"must be {what} {', '.join(allowed)}")
        return value

    return BeforeValidator(check)


def _with_name(value: str) -> str:
    """Refuse an IPv6 address with the reason, because the form is right and the SDK raises an error in each call."""
    if re.match(r"https?://\[", value):
        raise ValueError("the SDK of OCI takes no IPv6 address here. Give a name of that address, as in /etc/hosts")
    return value


def _with_port(value: str) -> str:
    port = re.search(r":(\d+)$", value)
    if port and not 0 < int(port[1]) <= 65535:
        raise ValueError("the port must be from 1 to 65535")
    return value


def _capacity(value: object) -> object:
    """Return the bytes of a capacity. A small number without a unit is refused: it more often means terabytes."""
    if isinstance(value, int | float) and 0 < value < 1e9:
        raise ValueError(f"{value:g} is in bytes. Write it like 800GB, 40TB or 10TiB")
    if not isinstance(value, str):
        return value
    parsed = re.fullmatch(r"(\d+(?:\.\d+)?) ?([GTP])(i?)B", value.strip())
    if parsed is None:
        raise ValueError(f"{value!r} is not a capacity. Write it like 800GB, 40TB or 10TiB")
    power = "GTP".index(parsed[2]) + 3
    return float(parsed[1]) * (1024 if parsed[3] else 1000) ** power


MOST_TAGS = 10  # as labels. Each is in a series of every mount target and file system


def tag_label(key: str) -> str:
    """Return the label of a tag. Prometheus takes small letters, digits and underscores in every place."""
    return "tag_" + re.sub(r"[^a-z0-9_]", "_", key.lower())


def tags_as_labels(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of tags that become labels.

    Raises:
        ValueError: there are too many, or two of them become one label.
    """
    if len(keys) > MOST_TAGS:
        raise ValueError(f"{len(keys)} tags are too many. Keep the {MOST_TAGS} that routes and panels need")
    key_of: dict[str, str] = {}
    for key in keys:
        label = tag_label(key)
        if label in key_of:
            raise ValueError(f"{key_of[label]!r} and {key!r} both become the label {label}. Keep one of them")
        key_of[label] = key
    return keys


Number = Annotated[float, BeforeValidator(_number)]
Seconds = Annotated[Number, BeforeValidator(_seconds), Field(gt=0, le=LONGEST_SECONDS, allow_inf_nan=False)]
Latency = Annotated[Number, BeforeValidator(_latency), Field(gt=0, allow_inf_nan=False)]
Address = Annotated[str, AfterValidator(_address)]
JoinedAddress = Annotated[str, Field(min_length=1), AfterValidator(_joined_address)]
Ocid = Annotated[str, _matching(OCID.pattern, "an OCID (ocid1.<type>....)")]
Vcn = Annotated[str, _matching(pattern("vcn"), "the OCID of a VCN (ocid1.vcn....)")]
Compartment = Annotated[str, AfterValidator(_compartment)]
Network = Annotated[str, AfterValidator(network_name)]
Auth = Annotated[str, _one_of(AUTH_KINDS)]
Endpoint = Annotated[
    str,
    AfterValidator(_with_name),
    _matching(
        r"https?://([A-Za-z0-9._-]|\{region\})+(:\d{1,5})?/?",
        "a URL without path, as in https://telemetry.{region}.oci.example.com",
    ),
    AfterValidator(lambda value: value.rstrip("/")),
    AfterValidator(_with_port),
]
Region = Annotated[str, AfterValidator(_region)]
Name = Annotated[str, Field(min_length=1)]
TagsAsLabels = Annotated[tuple[Name, ...], AfterValidator(tags_as_labels)]
OciMetricName = Annotated[str, _matching(r"[A-Za-z]\w*", "the name of a metric of OCI Monitoring")]
Shard = Annotated[str, AfterValidator(lambda text: str(_Shard.parse(text)))]
AccountName = Annotated[
    str, _matching(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", "up to 63 letters, digits, dots, dashes and underscores")
]
Limit = Annotated[Number, Field(gt=0, allow_inf_nan=False)] | None
Share = Annotated[Number, BeforeValidator(_share), Field(gt=0, lt=1)]
WarningRatio = Annotated[Number, BeforeValidator(_share), Field(gt=0, lt=CRITICAL_RATIO)]
SizeBucket = Annotated[str, _one_of(SIZE_BUCKETS, "a size as OCI Monitoring has it:")]
Service = Annotated[str, _one_of(SERVICES, "a service:")]
Shape = Annotated[str, _matching(rf"{'|'.join(SHAPES)}|hpmt-[1-9]\d*", f"a shape: {', '.join(SHAPES)}")]
Capacity = Annotated[Number, BeforeValidator(_capacity), Field(gt=0, allow_inf_nan=False)]
