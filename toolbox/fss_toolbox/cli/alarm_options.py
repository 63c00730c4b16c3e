# SPDX-License-Identifier: Apache-2.0
"""The common flags of all `alarms` commands, with the scope of the alarms and the resources for the thresholds."""

import re
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import click

from fss_exporter import RUNBOOK_URL
from fss_exporter.cli.account_sessions import sessions_of
from fss_exporter.cli.flags import AccountFlags
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import FilePath, flag, switch
from fss_exporter.model.limits import SHAPES, shape_of
from fss_exporter.model.thresholds import REPLICATION_DEFAULT_INTERVAL_SECONDS
from fss_exporter.oci.client import Session, read_credentials, region_of
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE
from fss_exporter.oci.inventory.mount_target_settings import limits_of
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.oci.inventory.selection import TagFilter
from fss_exporter.oci.metric_table import NAMESPACES
from fss_exporter.ocid import kind_of, looks_like_ocid
from fss_exporter.settings import Settings
from fss_toolbox.alarms.desired import AlarmInputs, AlarmScope, Target
from fss_toolbox.alarms.pack import Alarm, load as load_pack
from fss_toolbox.alarms.tenancy import event_types, publishes, spellings, watched
from fss_toolbox.cli.facts_flags import FactsFlags
from fss_toolbox.cli.toolbox_flags import link_base, note_ceilings
from fss_toolbox.doctor.account_facts import RegionFacts
from fss_toolbox.doctor.account_record import error_types, join_order, spellings as recorded_spellings


def _word(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", value):
        raise click.BadParameter("letters, digits, - and _, a letter first, at most 40")
    return value


@dataclass(frozen=True, kw_only=True)
class PackFlags(AccountFlags):
    """The flags that say where the alarms of a pack are. None for a flag that is not given."""

    compartment: str | None = flag("--compartment", "Compartment of the mount targets.", metavar="OCID")
    alarm_compartment: str | None = flag(
        "--alarm-compartment", "Compartment of the alarms.  [default: --compartment]", metavar="OCID"
    )
    name: str = flag("--name", "First word of the alarms' names, to distinguish packs.", "fss", callback=_word)


@dataclass(frozen=True, kw_only=True)
class AlarmFlags(PackFlags, FactsFlags):
    """The flags of what the alarms of a pack shall be. None for a flag that is not given."""

    in_subtree: bool = switch("--in-subtree", "With the tenancy as compartment: all compartments below as well.")
    topic: str | None = flag("--topic", "Notifications topic, in the same region.", metavar="OCID")
    stream: str | None = flag("--stream", "Stream, beside or instead of a topic.", metavar="OCID")
    published: bool = switch("--published", "Include the alarms on the metrics of serve --oci.publish.")
    before_publishing: bool = switch("--before-publishing", "With --published: also where no poller publishes yet.")
    runbook_url: str | None = flag(
        "--runbook-url",
        "Base of a link to the runbook in each text: /runbook of an exporter that readers reach, or your own page.",
        RUNBOOK_URL or None,
        type=link_base,
        metavar="URL",
    )
    pack_folder: Path | None = flag(
        "--pack",
        "Templates of your own in place of the shipped ones, or mql/templates/other-services.",
        type=FilePath(exists=True, file_okay=False, path_type=Path),
    )

    def pack(self, facts: RegionFacts | None) -> tuple[Alarm, ...]:
        """Return the shipped pack, or the operator's own, in the recorded order of `&&` and `||`."""
        shipped = resources.files("fss_toolbox") / "assets" / "mql" / "templates" / "alarms"
        return load_pack(self.pack_folder or shipped, join_order(facts))

    def complete_scope(self, region: str) -> AlarmScope:
        """Return the place of alarms that can be created, or raise UsageError as `scope` does, and for a missing topic."""
        scope = self.scope(region)
        if not (self.topic or self.stream):
            raise UsageError("--topic: an alarm needs a destination. Give the OCID of a topic, or --stream")
        return scope

    def scope(self, region: str) -> AlarmScope:
        """Return the place of the alarms, or raise UsageError for a missing compartment or a topic elsewhere."""
        planned = self.planned_scope()
        if not self.compartment:
            raise UsageError("--compartment: give the OCID of the compartment the mount targets are in")
        for name, ocid in (("--topic", self.topic), ("--stream", self.stream)):
            if ocid and region_of(ocid) not in ("", region):
                raise UsageError(
                    f"{name}: {ocid} is in {region_of(ocid)}, the alarms are in {region}. Give one of {region}"
                )
        return planned

    def planned_scope(self) -> AlarmScope:
        """Return the place of the alarms, with a ${PLACEHOLDER} for each flag that is not given. UsageError for a wrong OCID."""
        check_ocid("--compartment", self.compartment)
        check_ocid("--alarm-compartment", self.alarm_compartment)
        if self.in_subtree and self.compartment and kind_of(self.compartment) != "tenancy":
            raise UsageError("--in-subtree works for the tenancy only. Give the OCID of the tenancy as --compartment")
        for name, kind, ocid in (("topic", "onstopic", self.topic), ("stream", "stream", self.stream)):
            if ocid is not None and kind_of(ocid) != kind:
                raise UsageError(f"--{name}: {ocid} is not the OCID of a {name}")
        compartment = self.compartment or "${METRIC_COMPARTMENT_OCID}"
        alarms_in = self.alarm_compartment or self.compartment or "${ALARM_COMPARTMENT_OCID}"
        destinations = tuple(filter(None, (self.topic, self.stream))) or ("${TOPIC_OCID}",)
        return AlarmScope(alarms_in, compartment, destinations, self.in_subtree, self.name, self.runbook_url or "")

    def inputs(self, settings: Settings, session: Session, scope: AlarmScope, pack: tuple[Alarm, ...]) -> AlarmInputs:
        """Return the resources and settings of the tenancy, limited to services with alarms in the pack.

        Raises:
            UsageError: alarms on published metrics are wanted, and no poller publishes.
        """
        where, subtree = scope.metric_compartment, scope.in_subtree
        planned = self.planned_inputs(settings)
        if planned.published and not self.before_publishing and not publishes(session, where, in_subtree=subtree):
            wanted_by = "--published" if self.published else "oci.publish of the configuration"
            raise UsageError(
                f"{wanted_by}: no poller publishes in {where}{' or below' if subtree else ''}, because OCI lists none of its "
                f"metrics in the namespace {PUBLISHED_NAMESPACE}. The alarms on ceilings, latency and success would go, and those in their place "
                "would watch nothing. First run serve --oci.publish, or give --before-publishing"
            )
        tags = TagFilter(settings.oci.include.tags, settings.oci.exclude.tags)
        namespaces = {str(alarm.body["namespace"]) for alarm in pack}
        services = [service for service, namespace in NAMESPACES.items() if namespace in namespaces]
        inputs = watched(session, where, in_subtree=subtree, tags=tags, services=services)
        return replace(
            planned,
            targets=tuple(_target(target, settings) for target in inputs.mount_targets.values()),
            chosen_by_tags=bool(tags.include or tags.exclude),
            service_resources=tuple(inputs.service_resources.values()),
            replications={
                replication.id: replication.interval_seconds or REPLICATION_DEFAULT_INTERVAL_SECONDS
                for replication in inputs.replications.values()
            },
            spellings=spellings(session, where, in_subtree=subtree),
            error_types=event_types(session, where, in_subtree=subtree),
        )

    def planned_inputs(self, settings: Settings, facts: RegionFacts | None = None) -> AlarmInputs:
        """Return the resources and settings from the configuration, and the names of metrics and errors from a record."""
        note_ceilings(settings)
        return AlarmInputs(
            spellings={} if facts is None else recorded_spellings(facts),
            error_types={} if facts is None else error_types(facts),
            shape_limits={name: settings.limits.of_shape(name, shape.limits) for name, shape in SHAPES.items()},
            objectives=settings.latency_objectives.seconds,
            warning_ratio=settings.warning_ratio,
            published=self.published or settings.oci.publish,
        )


def session_of(settings: Settings) -> Session:
    """Return the session of the single region, because alarms, topic and mount targets belong to one region."""
    sessions = sessions_of(settings, read_credentials(settings.oci))
    if len(sessions) > 1:
        raise UsageError(f"--oci.region: say which of {', '.join(session.region for session in sessions)}")
    return sessions[0]


def check_ocid(flag: str, value: str | None) -> None:
    """Refuse a name in place of an OCID with a UsageError, because OCI would answer 404."""
    if value is not None and not looks_like_ocid(value):
        raise UsageError(f"{flag}={value}: give the OCID (ocid1....). The Console shows the OCID of each compartment")


def stated_targets(stated: tuple[str, ...], settings: Settings) -> tuple[Target, ...]:
    """Return mount targets given as OCID=SHAPE."""
    targets: list[Target] = []
    for text in stated:
        ocid, _, name = text.partition("=")
        if name not in SHAPES:
            raise UsageError(f"--mount-target={text}: no shape {name!r}. Known are {', '.join(SHAPES)}")
        if kind_of(ocid) != "mounttarget":
            raise UsageError(
                f"--mount-target={text}: {ocid!r} is not the OCID of a mount target (ocid1.mounttarget....)"
            )
        if ocid in {target.ocid for target in targets}:
            raise UsageError(f"--mount-target={text}: this mount target is given twice")
        gbps = SHAPES[name].observed_throughput_gbps
        stated_target = MountTarget(
            id=ocid, name=ocid, compartment_id="", availability_domain="", state="", observed_throughput_gbps=gbps
        )
        targets.append(_target(stated_target, settings))
    return tuple(targets)


def _target(target: MountTarget, settings: Settings) -> Target:
    shape = shape_of(target.observed_throughput_gbps)
    return Target(target.id, shape.name, limits_of(target, settings))
