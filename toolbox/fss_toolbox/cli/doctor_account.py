# SPDX-License-Identifier: Apache-2.0
"""The account's part of `doctor`: credentials, regions and their answers. The module needs the OCI SDK."""

import time
from dataclasses import replace

from fss_exporter.cli.account_sessions import sessions_of
from fss_exporter.errors import CloudError, UsageError
from fss_exporter.oci.client import Session, read_credentials, regions_of
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_exporter.settings import Settings
from fss_toolbox import tables
from fss_toolbox.doctor.account_checks import check_region, check_subscriptions
from fss_toolbox.doctor.account_facts import CallOutcome, RegionFacts, Subscriptions
from fss_toolbox.doctor.account_probe import LIST_SUBSCRIPTIONS, Probe, ask_subscriptions
from fss_toolbox.doctor.findings import Finding, finding_of


def ask_accounts(settings: Settings, wait_seconds: float) -> tuple[list[RegionFacts], list[Finding]]:
    """Return the answers and findings of each account. Among several, the subject of a finding begins with the name."""
    asked = [(account.oci.name, ask_account(account, wait_seconds)) for account in settings.each_account]
    if len(asked) == 1:
        return asked[0][1]
    facts = [fact for _, (of_account, _) in asked for fact in of_account]
    findings = [
        replace(finding, subject=" ".join(filter(None, (name, finding.subject))))
        for name, (_, of_account) in asked
        for finding in of_account
    ]
    return facts, findings


def ask_account(settings: Settings, wait_seconds: float) -> tuple[list[RegionFacts], list[Finding]]:
    """Return the answers of the configured regions, and the findings about the account. Wait so many seconds for new minutes."""
    try:
        held = read_credentials(settings.oci)
        regions = regions_of(settings.oci, held)
        # The region of the credentials knows the subscriptions even if every configured region refuses the signature.
        sessions = sessions_of(settings, held, (held.region,) if held.region else ())
    except (UsageError, CloudError) as error:
        return [], [finding_of("credentials.unusable", error=error)]
    subscriptions = ask_subscriptions(sessions)
    facts = [
        _probe_region(settings, session, subscriptions, wait_seconds)
        for session in sessions
        if session.region in regions and (subscriptions.listed is None or subscriptions.of(session.region))
    ]
    signed = finding_of("credentials.signed", auth=held.auth)
    of_regions = (finding for fact in facts for finding in check_region(fact))
    return facts, [signed, *check_subscriptions(subscriptions, regions), *of_regions]


def _probe_region(
    settings: Settings, session: Session, subscriptions: Subscriptions, wait_seconds: float
) -> RegionFacts:
    tried = subscriptions.tried.get(session.region)
    tried_before = {} if tried is None else {LIST_SUBSCRIPTIONS: tried}
    if tried is not None and tried.outcome is CallOutcome.SILENT:
        return RegionFacts(session.region, tried_before)
    selection = InventorySelection.of(settings)
    with tables.progress() as progress:
        return Probe(session, selection, time.time, progress, time.sleep, wait_seconds).ask(tried_before)
