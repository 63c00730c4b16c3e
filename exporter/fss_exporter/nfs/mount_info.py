"""`fss_client_mount_info`: a series for each mount point."""

from collections.abc import Iterator, Sequence

from fss_exporter.catalogue import CATALOGUE, Family, Series
from fss_exporter.nfs.superblocks import Superblock

_INFO = CATALOGUE["fss_client_mount_info"]


class MountInfo:
    """The info series of mount points. The class makes the series again only after a change."""

    def __init__(self) -> None:
        self._shown: Sequence[tuple[object, ...]] = ()
        self._series: list[Series] = []

    def family(self, superblocks: Sequence[Superblock]) -> Family:
        """Return one series for each mount point, with the negotiated options.

        Args:
            superblocks: superblocks of the last reading.
        """
        shown = [(one.key, one.record.options, one.mounts, one.encrypted) for one in superblocks]
        if shown != self._shown:  # mostly the very same objects, so this is soon decided
            rows = sorted({labels for superblock in superblocks for labels in _labels(superblock)})
            self._shown, self._series = shown, [Series(_INFO, labels) for labels in rows]
        return Family(_INFO, self._series, [1.0] * len(self._series))


def _labels(superblock: Superblock) -> Iterator[tuple[str, ...]]:
    record = superblock.record
    for mount in superblock.mounts:
        options = {**record.options, **mount.options}
        yield (
            *superblock.key,
            mount.mount_point,
            options.get("vers", ""),
            options.get("proto", ""),
            options.get("nconnect", "1"),
            options.get("rsize", ""),
            options.get("wsize", ""),
            "false" if {"soft", "softerr"} & options.keys() else "true",
            options.get("timeo", ""),
            options.get("retrans", ""),
            options.get("sec", ""),
            options.get("local_lock", ""),
            "true" if superblock.encrypted else "false",
        )
