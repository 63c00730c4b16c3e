"""Check the kernel's requirements for counting by process, without setting a trigger."""

from pathlib import Path
from typing import Final

from fss_exporter.nfs.exact.files import FILES, Files
from fss_exporter.nfs.exact.tracefs import Unavailable, advice, fields
from fss_exporter.nfs.processes import triggers
from fss_exporter.nfs.processes.process_session import CALLS, CLIENTS, READS, WRITERS, WRITES

_NEEDED: Final = {
    READS: (triggers.READS, {"dev", "count"}),
    WRITES: (triggers.WRITES, {"dev", "count", "fileid"}),
    CALLS: (triggers.CALLS, {"client_id", "version", "progname", "procname"}),
    CLIENTS: (triggers.BIRTHS, {"client_id", "addr", "program"}),
    **{procedure: (event, {"dev"}) for procedure, event in triggers.CLAIMED_BY.items()},
}
_NO_EVENT: Final = "the kernel has no event {}"


def missing(root: Path, files: Files = FILES) -> dict[str, str]:
    """Return the parts that this kernel cannot count, each with the reason.

    Args:
        root: where tracefs is mounted.
        files: how the kernel's files are reached.
    """
    found: dict[str, str] = {}
    for part, (event, needed) in _NEEDED.items():
        try:
            known = fields(root, event, files)
        except Unavailable as reason:
            found[part] = str(reason)
            continue
        if not known:
            found[part] = _NO_EVENT.format(event)
        elif lacking := needed - known.keys():
            found[part] = f"{event} has no field {', '.join(sorted(lacking))}"
    if no_join := _no_join(root, files):
        found[WRITERS] = no_join
    return found


def _no_join(root: Path, files: Files) -> str:
    """Return the reason why delayed write-back cannot be given back to the writer, or an empty text."""
    try:
        if not any(files.is_there(root / "events" / event) for event in triggers.DIRTIED):
            return _NO_EVENT.format(triggers.DIRTIED[0])
        if not files.is_there(root / "dynamic_events"):
            return "the kernel is built without CONFIG_SYNTH_EVENTS"
    except OSError as error:
        return str(advice(error, root))
    return ""
