"""The build backend of setuptools, behind one readable line for a Python that is too old."""

import sys

if sys.version_info < (3, 11):
    running = ".".join(map(str, sys.version_info[:3]))
    sys.exit(
        "fss-exporter needs Python 3.11 or newer, and this is Python "
        + running
        + ". Enterprise Linux: dnf install python3.12"
    )

from setuptools.build_meta import *
