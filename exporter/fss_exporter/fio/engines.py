"""fio's I/O engines."""

SYNCHRONOUS = frozenset(("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "null", "ftruncate", "sg", "splice"))
"""Engines that wait for each request, at any iodepth (fio, ioengines.c: FIO_SYNCIO)."""
