# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter clean`: remove what a killed agent with --nfs.exact has left in the kernel."""

import click

from fss_exporter.cli.terminal import complain, echo
from fss_exporter.errors import FssError
from fss_exporter.flag_records import KernelFlags, takes
from fss_kernel_counting.exact_mode import sources
from fss_kernel_counting.remains import remove


@click.command()
@takes(KernelFlags)
def clean(flags: KernelFlags) -> None:
    """Remove what a killed agent with --nfs.exact has left in the kernel, which goes on counting for it.

    Instances of an agent or an iostat that runs stay. Use the command in an init container of a pod with --nfs.exact, and after such an
    agent is removed for good.
    """
    done = remove(sources(flags))
    for path in done.removed:
        echo(f"removed {path}")
    for path in done.busy:
        echo(f"in use {path}")
    for reason in done.kept:
        complain("clean", reason)
    if done.kept:
        raise FssError("not all could be removed. Run as root, with a writable tracefs")
