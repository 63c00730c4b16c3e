"""`fss-exporter alarms`: the OCI alarm pack, rendered, planned, applied and destroyed."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from fss_exporter import tables
from fss_exporter.cli.alarm_options import (
    AlarmFlags,
    check_ocid,
    estate_of,
    options_of,
    pack_of,
    planned_estate,
    scope_of,
    session_of,
    settings_of,
    shared,
    stated_targets,
)
from fss_exporter.cli.flags import CommandGroup
from fss_exporter.cli.terminal import echo
from fss_exporter.errors import FssError, UsageError
from fss_exporter.oci.alarms import render as rendering, saved as saving, show
from fss_exporter.oci.alarms.alarm_plan import Plan, plan as compare, removal
from fss_exporter.oci.alarms.apply import apply as carry_out, doubles, survey
from fss_exporter.oci.alarms.desired import AlarmScope, desired
from fss_exporter.oci.alarms.pack import Alarm, placeholders
from fss_exporter.oci.alarms.saved import SavedPlan
from fss_exporter.oci.alarms.service import Alarms

CHANGES: Final = 2
"""Exit code of a plan with changes under --detailed-exitcode. 0 is no changes and 1 an error, as in Terraform."""


class _Mistake(click.UsageError):
    exit_code = 1


class _Planner(click.Command):
    """Where 2 means changes, no mistake may exit with 2."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        detailed = "--detailed-exitcode" in args
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as wrong:
            if detailed:
                raise _Mistake(wrong.message, wrong.ctx) from wrong
            raise


@click.group(cls=CommandGroup)
def alarms() -> None:
    """Plan, apply and destroy OCI alarms for mount targets."""


@alarms.command()
@shared
@click.option("--format", "form", type=click.Choice(["json", "cli", "terraform"]), default="json", show_default=True)
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="One file for each alarm."
)
@click.option("--from-inventory", is_flag=True, help="Fit the alarms to the mount targets of the tenancy.")
@click.option(
    "--mount-target",
    "stated",
    multiple=True,
    metavar="OCID=SHAPE",
    help="Fit the alarms to this mount target. Repeatable.",
)
def render(
    *, form: rendering.Form, output: Path | None, from_inventory: bool, stated: tuple[str, ...], **flags: Any
) -> None:
    """Write the alarms as API JSON, OCI CLI JSON or Terraform. What is not given stays a ${PLACEHOLDER}."""
    options = options_of(**flags)
    settings = settings_of(options)
    if from_inventory:
        session = session_of(settings)
        scope = scope_of(options, session.region)
        estate = estate_of(options, settings, session, scope, pack_of(options))
    else:
        scope = _scope_or_placeholders(options)
        estate = replace(planned_estate(options, settings), targets=stated_targets(stated, settings))
    wanted = desired(pack_of(options), scope, estate)
    _write(wanted, form, output)
    left = sorted({name for alarm in wanted for name in placeholders(alarm)})
    if left:
        tables.note(f"still to be filled in: {', '.join(left)}")


@alarms.command(cls=_Planner)
@shared
@click.option("--detailed-exitcode", "detailed", is_flag=True, help="Exit with 0: no changes, 2: changes, 1: error.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Keep the plan, for `apply FILE`.")
def plan(*, detailed: bool, out: Path | None, **flags: Any) -> int:
    """Show what `apply` would do. Nothing is changed."""
    try:
        saved, _ = _planned(options_of(**flags))
        _keep(saved, out)
    except UsageError as wrong:
        if detailed:
            raise FssError(str(wrong)) from wrong  # 2 means changes here
        raise
    for line in show.plan_lines(saved.plan):
        echo(line)
    if not detailed:
        return 0
    return CHANGES if saved.plan.changes else int(bool(saved.plan.of("clash")))


@alarms.command()
@shared
@click.argument("file", metavar="[PLAN]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask before deleting.")
def apply(*, file: Path | None, yes: bool, **flags: Any) -> int:
    """Create, update and delete alarms until they match the templates. A second run changes nothing.

    With PLAN, a file from `plan --out`, make exactly the planned changes or none.
    """
    options = options_of(**flags)
    saved, service = _planned(options) if file is None else _kept(file, options)
    code = _carried_out(saved.plan, service, yes=yes)
    if not saved.plan.of("create"):
        return code
    return code or _warn_of_doubles(service, saved.alarm_compartment, saved.name)


@alarms.command()
@shared
@click.option("--yes", is_flag=True, help="Do not ask.")
def destroy(*, yes: bool, **flags: Any) -> int:
    """Delete the alarms of the pack with the name --name, and no other alarm."""
    options = options_of(**flags)
    compartment = options.alarm_compartment or options.compartment
    check_ocid("--alarm-compartment", compartment)
    if not compartment:
        raise UsageError("--alarm-compartment: give the OCID of the compartment the alarms are in")
    settings = settings_of(options)
    service = Alarms(session_of(settings), settings.oci.auth)
    owned, _ = survey(service, compartment, options.name)
    return _carried_out(removal(owned), service, yes=yes)


def _planned(options: AlarmFlags) -> tuple[SavedPlan, Alarms]:
    pack = pack_of(options)
    settings = settings_of(options)
    session = session_of(settings)
    scope = scope_of(options, session.region)
    with tables.progress() as progress:
        progress.phase(f"{session.region}: listing mount targets and metrics")
        estate = estate_of(options, settings, session, scope, pack)
        wanted = desired(pack, scope, estate)
        _check_filled(wanted)
        progress.phase(f"{session.region}: reading alarms", len(wanted))
        service = Alarms(session, settings.oci.auth, progress.step)
        owned, foreign = survey(service, scope.alarm_compartment, scope.name)
    _say_what_is_blind(wanted, estate.spellings)
    planned = compare(wanted, owned, foreign)
    return SavedPlan(1, session.region, scope.alarm_compartment, scope.name, planned), service


def _keep(saved: SavedPlan, out: Path | None) -> None:
    if out is None:
        return
    try:
        out.write_bytes(saving.dump(saved))
    except OSError as error:
        raise UsageError(f"--out: cannot write {out}: {error.strerror}") from error


def _kept(file: Path, options: AlarmFlags) -> tuple[SavedPlan, Alarms]:
    try:
        saved = saving.load(str(file), file.read_bytes())
    except OSError as error:
        raise UsageError(f"PLAN: cannot read {file}: {error.strerror}") from error
    settings = settings_of(options)
    session = session_of(settings)
    if saved.region != session.region:
        raise UsageError(f"{file}: a plan for {saved.region}, and this is {session.region}. Give --oci.region")
    service = Alarms(session, settings.oci.auth)
    owned, _ = survey(service, saved.alarm_compartment, saved.name)
    saving.check_current(saved, owned)
    return saved, service


def _check_filled(wanted: Sequence[Alarm]) -> None:
    for alarm in wanted:
        if left := sorted(placeholders(alarm)):
            raise UsageError(f"{alarm.name}: no value for {', '.join(left)}. Write the OCID into the file")


def _say_what_is_blind(wanted: Sequence[Alarm], spellings: Mapping[str, str]) -> None:
    """Warn about alarms on MountTargetIOPS if the tenancy lacks the undocumented metric. Such alarms never fire."""
    if spellings and "mounttargetiops" not in spellings:
        blind = [alarm.name for alarm in wanted if "MountTargetIOPS[" in alarm.body["query"]]
        if blind:
            tables.note(
                f"{', '.join(blind)}: this compartment has no metric MountTargetIOPS, so it never fires; "
                "serve --oci.publish and --published watch an estimate"
            )


def _carried_out(planned: Plan, service: Alarms, *, yes: bool) -> int:
    for line in show.plan_lines(planned):
        echo(line)
    if not planned.changes:
        return int(bool(planned.of("clash")))
    deletions = len(planned.of("delete"))
    if deletions and not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"{deletions} alarms would be deleted, and no terminal can confirm: give --yes")
        click.confirm(f"Delete {deletions} alarms?", abort=True)
    outcomes = carry_out(planned, service, lambda outcome: echo(show.outcome_line(outcome)))
    echo(show.summary(outcomes))
    failed = any(outcome.error is not None for outcome in outcomes)
    return int(failed or bool(planned.of("clash")))


def _warn_of_doubles(service: Alarms, compartment: str, name: str) -> int:
    """Look for duplicates again, because another `apply` at the same time may have created equal alarms."""
    found = doubles(service, compartment, name)
    for alarm, ocids in found.items():
        tables.note(f"{alarm} is there {len(ocids)} times: {', '.join(ocids)}")
    if found:
        tables.note("another apply ran at the same time. Run apply again, which offers to delete the younger alarms")
    return int(bool(found))


def _scope_or_placeholders(options: AlarmFlags) -> AlarmScope:
    compartment = options.compartment or "${METRIC_COMPARTMENT_OCID}"
    alarms_in = options.alarm_compartment or options.compartment or "${ALARM_COMPARTMENT_OCID}"
    destinations = tuple(filter(None, (options.topic, options.stream))) or ("${TOPIC_OCID}",)
    return AlarmScope(alarms_in, compartment, destinations, options.in_subtree, options.name, options.runbook_url)


def _write(wanted: Sequence[Alarm], form: rendering.Form, output: Path | None) -> None:
    texts = rendering.files(wanted, form)
    if output is None:
        echo(rendering.document(wanted, form), end=False)
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (output / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output: cannot write {error.filename}: {error.strerror}") from error
    click.echo(f"{output}: {len(texts)} files", err=True)
