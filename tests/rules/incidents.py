"""The table of incidents: what goes wrong, and all messages that the person on call wants.

To add an incident, add a row: a name, the site, the faults with their minutes, the wanted messages with their latest minutes.
Minutes count from the start of the incident. A site works for half an hour before. A message that the row does not name is a mistake.
"""

from tests.rules.faults import (
    Answer,
    Clock,
    Down,
    Failing,
    GiveUp,
    Hang,
    InGroups,
    Late,
    PollerDown,
    Slow,
    State,
    Unlisted,
    Work,
)
from tests.rules.runner import Incident, page, ticket
from tests.rules.site import Site

INCIDENTS: tuple[Incident, ...] = (
    # Nothing is wrong.
    Incident("everything is well", Site(), (), in_make_test=True),
    Incident("everything is well, without a poller", Site(pollers=0), ()),
    Incident("everything is well, without agents", Site(hosts=0), ()),
    # Mount targets that do not serve.
    Incident(
        "all clients hang for half an hour",
        Site(hosts=20, minutes=90),
        (Hang(0, 30),),
        (page("FssMountTargetDown", 5),),
        in_make_test=True,
    ),
    Incident("a third of the clients hang", Site(hosts=9), (Hang(0, 30, hosts=3),), (page("FssMountTargetDown", 5),)),
    Incident("one client of ten hangs", Site(), (Hang(0, 30, hosts=1),), (ticket("FssClientStalled", 10),)),
    Incident(
        "clients hang for 90 seconds each 40 minutes, for five hours",
        Site(minutes=300),
        (Hang(every=40, lasting=1.5),),
        (ticket("FssMountTargetFailing", 180),),
    ),
    Incident(
        "soft mounts give up, and the only program of each host pauses: 40 minutes without a reply",
        Site(hosts=3, minutes=90),
        (GiveUp(0, 40),),
        (page("FssMountTargetDown", 8),),
        in_make_test=True,
    ),
    Incident("a stall of 90 seconds while a mount target moves", Site(), (Hang(0, 1.5),)),
    Incident(
        "20 mount targets of a region are down",
        Site(hosts=20, mount_targets=20),
        (Hang(0, 30),),
        (page("FssRegionDown", 6),),
    ),
    Incident("a mount target is FAILED", Site(), (State(state="FAILED"),), (page("FssMountTargetDown", 15),)),
    # Requests that fail or are slow.
    Incident(
        "10 % of the requests fail",
        Site(),
        (Failing(0, 30, share=0.1),),
        (page("FssMountTargetFailing", 10),),
        in_make_test=True,
    ),
    Incident(
        "all requests fail for half an hour",
        Site(minutes=90),
        (Failing(0, 30, share=1.0),),
        (page("FssMountTargetDown|FssMountTargetFailing", 8),),
    ),
    Incident("requests fail for two minutes", Site(), (Failing(0, 2),)),
    Incident(
        "each request takes 100 ms",
        Site(),
        (Slow(0, 30),),
        (page("FssMountTargetSlow", 10),),
        in_make_test=True,
    ),
    Incident(
        "clients see 100 ms, and OCI does not",
        Site(),
        (Slow(0, 30, side="clients"),),
        (page("FssMountTargetSlow", 10),),
    ),
    Incident("OCI sees 100 ms, without agents", Site(hosts=0), (Slow(0, 30),), (page("FssMountTargetSlow", 12),)),
    # Load and ceilings.
    Incident(
        "96 % of the IOPS ceiling", Site(), (Work(times=9.6, side="oci"),), (ticket("FssMountTargetIopsHigh", 10),)
    ),
    Incident(
        "the IOPS ceiling in two of five minutes",
        Site(),
        (Work(times=10, side="oci", every=5, lasting=2),),
        (ticket("FssMountTargetIopsHigh", 15),),
    ),
    Incident(
        "the IOPS ceiling in each second minute, estimated, and minutes come in pairs",
        Site(publishes_iops=False),
        (Work(times=10, side="oci", every=2, lasting=1), InGroups(-30, minutes=2)),
        (ticket("FssMountTargetIopsHigh", 15),),
    ),
    # Monitoring.
    Incident(
        "OCI publishes 8 minutes late for an hour",
        Site(minutes=120),
        (Late(0, 60, minutes=8),),
        (ticket("FssOciDataLate", 15),),
        in_make_test=True,
    ),
    Incident(
        "the clock of a poller is ten minutes wrong for an hour",
        Site(minutes=120),
        (Clock(0, 60, seconds=600),),
        (ticket("FssPollerClockSkew", 15),),
    ),
    Incident(
        "OCI fails for one metric for an hour",
        Site(minutes=120),
        (Answer(0, 60, fault="503:SummarizeMetricsData,match=MountTargetHealth"),),
        (ticket("FssOciQueriesFailing|FssOciDataLate|FssMountTargetDataMissing", 30),),
    ),
    Incident("the poller dies", Site(), (PollerDown(),), (page("FssOciPollerDown", 15),), in_make_test=True),
    Incident("the poller restarts", Site(minutes=40), (PollerDown(5, 7),)),
    Incident(
        "a host joins, and its agent answers five minutes later",
        Site(),
        (Down(-60, 0, hosts=1, is_listed=False), Down(0, 5, hosts=1)),
    ),
    Incident(
        "a roll-out restarts one agent after another",
        Site(minutes=30),
        tuple(Down(number, number + 1, first=number, hosts=1) for number in range(10)),
    ),
    Incident("a mount target is missing in a listing", Site(mount_targets=2), (Unlisted(0, 12),), in_make_test=True),
)
