# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter alarms`: the OCI alarm pack, rendered, planned, applied and destroyed."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from fss_exporter.cli.flags import NEW_FILE
from fss_exporter.cli.terminal import CommandGroup, echo, end_by_signals
from fss_exporter.errors import FssError, UsageError
from fss_exporter.flag_records import argument, flag, switch, takes
from fss_exporter.oci.iam import NAMESPACE
from fss_exporter.ocid import kind_of
from fss_exporter.regular_files import read_bounded
from fss_exporter.terminal_text import printable
from fss_toolbox import tables
from fss_toolbox.alarms import alarm_plan, render as rendering, show
from fss_toolbox.alarms.alarm_plan import Plan, SavedPlan, removal
from fss_toolbox.alarms.apply import Alarms, StepOutcome, apply as carry_out, duplicates, existing_alarms
from fss_toolbox.alarms.desired import AlarmInputs, AlarmScope, desired
from fss_toolbox.alarms.pack import Alarm, placeholders
from fss_toolbox.cli.alarm_options import AlarmFlags, PackFlags, check_ocid, session_of, stated_targets
from fss_toolbox.cli.toolbox_flags import FOLDER, write_file, write_together
from fss_toolbox.doctor.account_record import join_order

_WATCHED: Final = "metricCompartmentId"  # the field of an alarm with the compartment that it watches

# Exit code of a plan with changes under --detailed-exitcode. 0 is no changes and 1 an error, as in Terraform.
CHANGES: Final = 2


class _Mistake(click.UsageError):
    exit_code = 1


class _Planner(click.Command):
    """A command that exits with 2 for changes, and with 1 for a mistake."""

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


@dataclass(frozen=True, kw_only=True)
class RenderFlags(AlarmFlags):
    """The flags of `alarms render`."""

    output: rendering.Form = flag(
        "--output",
        "For the API of OCI, for the OCI CLI, or for Terraform.",
        "json",
        type=click.Choice(("json", "cli", "terraform")),
    )
    out: Path | None = flag("--out", "One file for each alarm in place of standard output.", type=FOLDER, metavar="DIR")
    from_inventory: bool = switch("--from-inventory", "Fit the alarms to the mount targets of the tenancy.")
    stated: tuple[str, ...] = flag(
        "--mount-target", "Fit the alarms to this mount target. Repeatable.", (), metavar="OCID=SHAPE"
    )


@alarms.command()
@takes(RenderFlags)
def render(flags: RenderFlags) -> None:
    """Write the alarms as API JSON, OCI CLI JSON or Terraform. What is not given stays a ${PLACEHOLDER}."""
    if flags.from_inventory and flags.stated:
        raise UsageError("--from-inventory and --mount-target both name the mount targets: give one")
    settings = flags.settings_of_account()
    if flags.from_inventory:
        session = session_of(settings)
        scope = flags.scope(session.region)
        facts = flags.recorded_region(session.region)
        pack = flags.pack(facts)
        inputs = flags.inputs(settings, session, scope, pack)
    else:
        scope = flags.planned_scope()
        facts = flags.only_recorded_region(settings)
        pack = flags.pack(facts)
        inputs = replace(flags.planned_inputs(settings, facts), targets=stated_targets(flags.stated, settings))
    wanted = desired(pack, scope, inputs)
    _note_missing_iops(wanted, inputs.spellings)
    if flags.from_inventory:
        _note_missing_mount_targets(pack, scope, inputs)
    _write(wanted, flags.output, flags.out)
    left = sorted({name for alarm in wanted for name in placeholders(alarm)})
    if left:
        tables.note(f"still to be filled in: {', '.join(left)}")


@dataclass(frozen=True, kw_only=True)
class CopiesFlags(AlarmFlags):
    """The flags of a comparison with the alarms that are there."""

    delete_copies: bool = switch("--delete-copies", "Delete further alarms with the tags of one of ours.")


@dataclass(frozen=True, kw_only=True)
class AlarmPlanFlags(CopiesFlags):
    """The flags of `alarms plan`."""

    detailed: bool = switch("--detailed-exitcode", "Exit with 0: no changes, 2: changes, 1: error.")
    out: Path | None = flag("--out", "Keep the plan, for `apply FILE`.", type=NEW_FILE)


@alarms.command(cls=_Planner)
@takes(AlarmPlanFlags)
def plan(flags: AlarmPlanFlags) -> int:
    """Show what `apply` would do. Nothing is changed."""
    try:
        saved, _ = _planned(flags)
        if flags.out is not None:
            write_file("--out", flags.out, alarm_plan.saved_json(saved))
    except UsageError as wrong:
        if flags.detailed:
            raise FssError(wrong.lines[0], wrong.lines[1:]) from wrong  # 2 means changes here
        raise
    _show(saved.plan)
    if not flags.detailed:
        return 0
    return CHANGES if saved.plan.changes else int(bool(saved.plan.of("clash")))


@dataclass(frozen=True, kw_only=True)
class ApplyFlags(CopiesFlags):
    """The flags of `alarms apply`."""

    file: Path | None = argument(metavar="[PLAN]", required=False, type=NEW_FILE)
    yes: bool = switch("--yes", "Do not ask.")


@alarms.command()
@takes(ApplyFlags)
def apply(flags: ApplyFlags) -> int:
    """Create, update and delete alarms until they match the templates. A second run changes nothing.

    With PLAN, a file from `plan --out`, make exactly the planned changes or none.
    """
    saved, service = _planned(flags) if flags.file is None else _kept(flags.file, flags)
    code = _carried_out(saved.plan, service, yes=flags.yes)
    if code == 0 and saved.plan.of("create"):
        return _warn_of_duplicates(service, saved.alarm_compartment, saved.name)
    return code


@dataclass(frozen=True, kw_only=True)
class DestroyFlags(PackFlags):
    """The flags of `alarms destroy`."""

    yes: bool = switch("--yes", "Do not ask.")


@alarms.command()
@takes(DestroyFlags)
def destroy(flags: DestroyFlags) -> int:
    """Delete the alarms of the pack with the name --name, and no other alarm."""
    check_ocid("--compartment", flags.compartment)
    check_ocid("--alarm-compartment", flags.alarm_compartment)
    compartment = flags.alarm_compartment or flags.compartment
    if not compartment:
        raise UsageError("--alarm-compartment: give the OCID of the compartment the alarms are in")
    settings = flags.settings_of_account()
    service = Alarms(session_of(settings), settings.oci.auth)
    owned, _ = existing_alarms(service, compartment, flags.name)
    return _carried_out(removal(owned), service, yes=flags.yes)


def _planned(options: CopiesFlags) -> tuple[SavedPlan, Alarms]:
    settings = options.settings_of_account()
    session = session_of(settings)
    facts = options.recorded_region(session.region)
    pack = options.pack(facts)
    scope = options.complete_scope(session.region)
    with tables.progress() as progress:
        progress.phase(f"{session.region}: listing mount targets and metrics")
        inputs = options.inputs(settings, session, scope, pack)
        wanted = desired(pack, scope, inputs)
        _check_filled(wanted)
        progress.phase(f"{session.region}: reading alarms", len(wanted))
        service = Alarms(session, settings.oci.auth, progress.step)
        owned, foreign = existing_alarms(service, scope.alarm_compartment, scope.name)
    _note_missing_iops(wanted, inputs.spellings)
    _note_missing_mount_targets(pack, scope, inputs)
    planned = alarm_plan.plan(wanted, owned, foreign, join_order(facts), delete_copies=options.delete_copies)
    return SavedPlan(1, session.region, scope.alarm_compartment, scope.name, planned), service


def _kept(file: Path, options: AlarmFlags) -> tuple[SavedPlan, Alarms]:
    try:
        with file.open("rb") as opened:
            content = read_bounded(opened)
    except OSError as error:
        raise UsageError(f"PLAN: cannot read {file}: {error.strerror}") from error
    saved = alarm_plan.read_saved(str(file), content)
    settings = options.settings_of_account()
    session = session_of(settings)
    if saved.region != session.region:
        raise UsageError(f"{file}: a plan for {saved.region}, and this is {session.region}. Give --oci.region")
    service = Alarms(session, settings.oci.auth)
    alarm_plan.check_current(saved, *existing_alarms(service, saved.alarm_compartment, saved.name))
    return saved, service


def _check_filled(wanted: Sequence[Alarm]) -> None:
    for alarm in wanted:
        if left := sorted(placeholders(alarm)):
            raise UsageError(f"{alarm.name}: no value for {', '.join(left)}. Write the OCID into the file")


def _note_missing_iops(wanted: Sequence[Alarm], spellings: Mapping[str, str]) -> None:
    """Warn about alarms on MountTargetIOPS if the tenancy lacks the undocumented metric. Such alarms never fire."""
    if spellings and "mounttargetiops" not in spellings:
        affected = [alarm.name for alarm in wanted if "MountTargetIOPS[" in alarm.body["query"]]
        if affected:
            tables.note(
                f"{', '.join(affected)}: this compartment has no metric MountTargetIOPS, so the alarm never fires. "
                "First run serve --oci.publish, which publishes an estimate. Then --published watches it"
            )


def _note_missing_mount_targets(pack: Sequence[Alarm], scope: AlarmScope, inputs: AlarmInputs) -> None:
    """Say that alarms on mount targets watch nothing yet, because the compartment or the tags may be the wrong ones."""
    if inputs.targets or all(alarm.body["namespace"] != NAMESPACE for alarm in pack):
        return
    where = f"{scope.metric_compartment}{' and below' if scope.in_subtree else ''}"
    if inputs.chosen_by_tags:
        tables.note(f"no mount target in {where} has the tags of the configuration: no alarm watches a ceiling")
    else:
        is_root_alone = kind_of(scope.metric_compartment) == "tenancy" and not scope.in_subtree
        way_out = ". For the compartments below the tenancy give --in-subtree" if is_root_alone else ""
        tables.note(f"no mount target in {where}: the alarms watch none until one comes{way_out}")


def _show(planned: Plan) -> None:
    for line in show.plan_lines(planned):
        echo(_folded(line))


def _folded(line: str) -> str:
    return tables.hung(line, tables.console().width, len(line) - len(line.lstrip()) + 4)


def _carried_out(planned: Plan, service: Alarms, *, yes: bool) -> int:
    _show(planned)
    if not planned.changes:
        return int(bool(planned.of("clash")))
    if not yes:
        _confirm(planned)

    def report(outcome: StepOutcome) -> None:
        with suppress(OSError):  # a reader who left, or a full disk, must not end the command between two changes
            echo(_folded(show.outcome_line(outcome)))

    end_by_signals()
    try:
        outcomes = carry_out(planned, service, report)
    except SystemExit:
        tables.note("interrupted: the change under way may have been made. Run the command again to do the rest")
        raise
    echo(show.summary(outcomes))
    failed = any(outcome.error is not None for outcome in outcomes)
    return int(failed or bool(planned.of("clash")))


def _confirm(planned: Plan) -> None:
    """Ask before the plan ends the watch over something. UsageError without a terminal."""
    deletions = len(planned.of("delete"))
    if deletions:
        _ask(f"{deletions} alarms would be deleted", f"Delete {deletions} alarms?")
    old = [change.old for step in planned.of("update") for change in step.changes if change.name == _WATCHED]
    if old:
        compartments = ", ".join(sorted(set(map(str, old))))
        _ask(
            f"{len(old)} alarms would no longer watch {compartments} (alarms of another compartment need another --name)",
            f"Let {len(old)} alarms no longer watch {compartments}?",
        )


def _ask(consequence: str, question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"{consequence}, and no terminal can confirm: give --yes")
    click.confirm(printable(question), abort=True)


def _warn_of_duplicates(service: Alarms, compartment: str, name: str) -> int:
    """Look for duplicates again, because another `apply` at the same time may have created equal alarms."""
    repeated = duplicates(service, compartment, name)
    for alarm, ocids in repeated.items():
        tables.note(f"{alarm} is there {len(ocids)} times: {', '.join(ocids)}")
    if repeated:
        tables.note(
            "another apply ran at the same time. Run apply again with --delete-copies, which deletes the younger alarms"
        )
    return int(bool(repeated))


def _write(wanted: Sequence[Alarm], form: rendering.Form, folder: Path | None) -> None:
    texts = rendering.files(wanted, form)
    if folder is None:
        echo(rendering.document(wanted, form), end=False)
        return
    write_together({folder / name: text.encode() for name, text in texts.items()})
    click.echo(f"{folder}: {len(texts)} files", err=True)
