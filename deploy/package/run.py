"""Run the exporter from the package's own folder of modules, and from no other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("lib")))

from fss_exporter.__main__ import main  # found in the folder of the line above

main()
