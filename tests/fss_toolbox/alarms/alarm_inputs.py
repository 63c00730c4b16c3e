"""The shipped alarms, where they go, and mount targets to fit them to."""

from pathlib import Path

from fss_exporter.model.limits import SHAPES, Limits
from fss_toolbox.alarms import pack
from fss_toolbox.alarms.desired import AlarmScope, Target
from fss_toolbox.alarms.figures import CEILING_ALARMS

PACK = pack.load(Path(__file__).parents[3] / "mql" / "templates" / "alarms")
SCOPE = AlarmScope("ocid1.compartment.oc1..alarms", "ocid1.compartment.oc1..storage", ("ocid1.onstopic.oc1.fra.ops",))
FIRST = "ocid1.mounttarget.oc1_fra.first"
SECOND = "ocid1.mounttarget.oc1_fra.second"


def target(ocid: str, shape: str = "standard", **limits: float) -> Target:
    own = SHAPES[shape].limits
    kept = {ceiling.kind: limits.get(ceiling.kind, ceiling.of(own)) for ceiling in CEILING_ALARMS.values()}
    return Target(ocid, shape, Limits(**kept))
