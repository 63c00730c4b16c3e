"""The table of incidents: what goes wrong, and all messages that the person on call wants.

To add an incident, add a row: a name, the site, the faults with their minutes, the wanted messages with their latest minutes.
A wanted message can name words that its text has in that minute.
Minutes count from the start of the incident. A site works for half an hour before, or `before` minutes. A message that the row does not name is a mistake.
"""

from tests.rules.faults import (
    Answer,
    Clock,
    Down,
    Failing,
    Garbled,
    GiveUp,
    Hang,
    HostClock,
    InGroups,
    Late,
    LateReads,
    LeaseUnreadable,
    Listed,
    OwnMounts,
    PollerDown,
    PollerStalled,
    Published,
    ReloadRefused,
    Repeating,
    Retransmitting,
    ScrapedRarely,
    SecondAgent,
    ServiceLimit,
    Silent,
    Slow,
    Stalled,
    Unlisted,
    Unmounted,
    Unreadable,
    Work,
)
from tests.rules.hosts import HostSettings
from tests.rules.runner import Incident, page, ticket
from tests.rules.site import Site

from fss_exporter.nfs.mount_services import Claim, Services

NODE_EXPORTER = HostSettings(is_node_exporter=True)
APSARA = HostSettings(services=Services([Claim("apsara-nas", "capacity", 1e12)]))
SIZES = ("0B_to_8KiB", "8KiB_to_64KiB", "64KiB_to_1MiB")
P99 = HostSettings(p99_objectives={"read": 0.1})
ONE_MEGABYTE = HostSettings(network_bytes_per_second=1e6)
FIRST = "Mount target mt-00000 (10.96.0.0, eu-frankfurt-1)"

NOTHING_IS_WRONG = (
    Incident("everything is well", Site(), ()),
    Incident("everything is well, without a poller", Site(pollers=0), ()),
    Incident("everything is well, without agents", Site(hosts=0), ()),
    Incident("everything is well, seen by node_exporter", Site(host_settings=NODE_EXPORTER), ()),
    Incident("everything is well, with LDAP, Kerberos, quotas and a replication", Site(has_extras=True), ()),
    Incident("everything is well, scraped each 15 seconds", Site(minutes=15, scraped=15), ()),
    Incident("two pollers see one region", Site(pollers=2), ()),
    Incident("one of two pollers stands by", Site(pollers=2, standby="shared", minutes=120), ()),
    Incident("hardly any requests, and half of them fail", Site(), (Work(-30, times=0.0002), Failing(share=0.5))),
)

DOES_NOT_SERVE = (
    Incident(
        "all clients hang for half an hour",
        Site(hosts=20, minutes=90),
        (Hang(0, 30),),
        (page("FssMountTargetDown", 3, f"{FIRST} does not serve: 20 of 20 clients hang, host-", " for 5m", told=5),),
    ),
    Incident(
        "all clients hang for half an hour, without a poller",
        Site(pollers=0, minutes=90),
        (Hang(0, 30),),
        (page("FssMountTargetDown", 5),),
    ),
    Incident(
        "all clients hang for half an hour, seen by node_exporter",
        Site(hosts=4, host_settings=NODE_EXPORTER),
        (Hang(0, 30),),
        (page("FssMountTargetDown", 16),),
    ),
    *(
        Incident(
            f"10 of 16 clients hang, and all agents are rolled out in the {nth} minute",
            Site(hosts=16),
            (Hang(0, 30, hosts=10), Down(minute, minute + 1)),
            (page("FssMountTargetDown", 10, f"{FIRST} does not serve: 10 of 16 clients hang", told=14),),
        )
        for minute, nth in enumerate(("second", "third", "fourth", "fifth"), start=1)
    ),
    Incident(
        "10 of 16 clients hang, and all agents are away for four minutes meanwhile",
        Site(hosts=16),
        (Hang(0, 30, hosts=10), Down(2, 6)),
        (page("FssMountTargetDown", 14),),
    ),
    Incident(
        "16 clients hang one after the other, one a minute",
        Site(hosts=16),
        tuple(Hang(number, 30, first=number, hosts=1) for number in range(16)),
        (page("FssMountTargetDown", 8),),
    ),
    Incident(
        "16 clients hang one after the other, one each three minutes",
        Site(hosts=16, minutes=100),
        tuple(Hang(3 * number, 60, first=number, hosts=1) for number in range(16)),
        (ticket("FssClientStalled", 10), ticket("FssClientStalled", 13), page("FssMountTargetDown", 15)),
    ),
    Incident(
        "2 of 12 clients of four mount targets lose their network",
        Site(hosts=12, mount_targets=4, mounts=4),
        (Hang(0, 30, hosts=2),),
        (ticket("FssClientStalled", 10),),
    ),
    Incident(
        "all clients hang for 40 seconds of each minute",
        Site(hosts=8),
        (Hang(0.1, 30, every=1, lasting=0.67),),
        (
            page(
                "FssMountTargetFailing",
                8,
                "no reply came to 100% of the clients that asked. Check its state in OCI and",
            ),
        ),
    ),
    Incident(
        "all clients hang for 100 seconds of each three minutes",
        Site(hosts=8),
        (Hang(0.1, 40, every=3, lasting=1.7),),
        (page("FssMountTargetFailing", 10),),
    ),
    Incident(
        "a third of the clients hang",
        Site(hosts=9),
        (Hang(0, 30, hosts=3),),
        (page("FssMountTargetDown", 5, " does not serve: 3 of 9 clients hang, "),),
    ),
    Incident(
        "the only client of a mount target hangs", Site(hosts=1), (Hang(0, 30),), (page("FssMountTargetDown", 5),)
    ),
    Incident(
        "one client of ten hangs",
        Site(),
        (Hang(0, 30, hosts=1),),
        (ticket("FssClientStalled", 10, "Client host-0:10949 has had no reply from 10.96.0.0 (/mnt/10.96.0.0) for "),),
    ),
    Incident(
        "one host of ten with eight mount targets loses its network",
        Site(mount_targets=8, mounts=8),
        (Hang(0, 30, hosts=1),),
        (ticket("FssClientStalled", 10),),
    ),
    Incident(
        "one client of ten hangs, and a minute without its agent begins a new one",
        Site(minutes=90),
        (Hang(0, 60, hosts=1), Down(20, 21, hosts=1)),
        (ticket("FssClientStalled", 10),),
    ),
    Incident(
        "all clients hang, and all agents are rolled out twice meanwhile",
        Site(hosts=20, minutes=120),
        (Hang(0, 60), Down(20, 21), Down(40, 41)),
        (page("FssMountTargetDown", 3),),
    ),
    Incident("a stall of 90 seconds while a mount target moves", Site(before=180), (Hang(0, 1.5),)),
    Incident(
        "clients hang for 90 seconds each 40 minutes, for five hours",
        Site(before=360, minutes=300),
        (Hang(every=40, lasting=1.5),),
        (ticket("FssMountTargetFailing", 300),),
    ),
    Incident(
        "soft mounts give up, and the only program of each host pauses: 40 minutes without a reply",
        Site(hosts=3, minutes=90),
        (GiveUp(0, 40),),
        (page("FssMountTargetDown", 8),),
    ),
    Incident(
        "clients that were idle for two hours wake up and wait for 90 seconds",
        Site(hosts=12, before=150),
        (Work(-130, 0, times=0), Hang(0, 1.5)),
    ),
    Incident(
        "4 of 12 clients that were idle for two hours wake up and wait for 90 seconds",
        Site(hosts=12, before=150),
        (Work(-130, 0, times=0), Work(0, first=4, times=0), Hang(0, 1.5, hosts=4)),
    ),
    Incident(
        "clients that were idle for two hours wake up and hang",
        Site(hosts=12, before=150),
        (Work(-130, 0, times=0), Hang(0, 40)),
        (page("FssMountTargetDown", 5),),
    ),
    Incident(
        "all clients hang, and half of them run node_exporter",
        Site(hosts=8, node_exporters=4),
        (Hang(0, 40),),
        (page("FssMountTargetDown", 5),),
    ),
    Incident(
        "two mount targets hang, and half of their clients run node_exporter",
        Site(hosts=8, mount_targets=2, mounts=2, node_exporters=4),
        (Hang(0, 40),),
        (page("FssMountTargetDown", 5), page("FssMountTargetDown", 5)),
    ),
    Incident(
        "3 of 20 clients get errors on soft mounts for 12 minutes",
        Site(hosts=20),
        (GiveUp(0, 12, hosts=3),),
        (
            page(
                "FssMountTargetFailing",
                10,
                "no reply came to 15% of the clients that asked. Check its state in OCI and",
            ),
        ),
    ),
    Incident(
        "a soft mount gives up, and nothing is asked after the server is back",
        Site(),
        (GiveUp(0, 4, hosts=1), Work(4, hosts=1, times=0)),
        (ticket("FssClientStalled", 12, "or a soft mount gave up and nothing was asked since"),),
    ),
    Incident(
        "an outage comes and goes: five minutes each fifteen minutes, for an hour",
        Site(minutes=90),
        (Hang(0, 60, every=15, lasting=5),),
        (page("FssMountTargetDown", 5),),
    ),
    Incident(
        "two outages of 20 minutes, three hours apart",
        Site(minutes=240),
        (Hang(0, 20), Hang(180, 200)),
        (page("FssMountTargetDown", 5), page("FssMountTargetDown", 185, since=180)),
    ),
    Incident(
        "20 mount targets of a region are down",
        Site(hosts=20, mount_targets=20, minutes=40),
        (Hang(0, 20),),
        (
            page(
                "FssRegionDown",
                6,
                "20 mount target(s) of eu-frankfurt-1, all in ",
                " are down: for example Mount target mt-000",
            ),
        ),
    ),
    Incident(
        "three mount targets of a region are down, and one of them is back 15 minutes before the others",
        Site(hosts=3, mount_targets=3, minutes=85),
        (Hang(0, 20, targets=(0,)), Hang(0, 35, targets=(1, 2))),
        (page("FssRegionDown", 6),),
    ),
    Incident(
        "three mount targets are slow for two hours, and after an hour the clients of a fourth one hang",
        Site(mount_targets=4, hosts=8, minutes=120),
        (Slow(targets=(0, 1, 2)), Hang(60, 90, targets=(3,))),
        (
            page(
                "FssRegionDegraded",
                12,
                "Requests to 3 mount target(s) of eu-frankfurt-1, all in ",
                " fail, are slow or have no reply: for example Mount target mt-0000",
            ),
            page("FssMountTargetDown", 65, "Mount target mt-00003 (10.96.0.3, eu-frankfurt-1)", since=60),
        ),
    ),
    Incident(
        "a mount target has FAILED, and its clients hang",
        Site(),
        (Listed(field="lifecycleState", value="FAILED"), Hang(0, 30)),
        (page("FssMountTargetDown", 5),),
    ),
    Incident(
        "a mount target is deleted while its clients work",
        Site(mount_targets=2, minutes=90),
        (Hang(targets=(0,)), Unlisted(3, target=0), Published(3, targets=(0,))),
        (page("FssMountTargetDown", 5),),
    ),
    Incident(
        "the poller dies, and its clients hang 15 minutes later",
        Site(),
        (PollerDown(), Hang(15, 45)),
        (
            page("FssOciPollerDown", 15),
            page("FssMountTargetDown", 20, f"{FIRST} does not serve: 10 of 10 clients hang", since=15),
        ),
    ),
)

REQUESTS_FAIL_OR_ARE_SLOW = (
    Incident(
        "10 % of the requests fail",
        Site(minutes=120),
        (Failing(0, 30, share=0.1),),
        (
            page(
                "FssMountTargetFailing",
                4,
                f"{FIRST} had requests that failed or had no reply in 10 of the last 60 minutes: its ",
                "s failed for 100% of the clients that asked, OCI says that 10% of all requests failed. Check quotas",
                told=10,
            ),
        ),
    ),
    Incident(
        "all requests fail for half an hour",
        Site(minutes=120),
        (Failing(0, 30, share=1.0),),
        (page("FssMountTargetDown|FssMountTargetFailing", 10),),
    ),
    Incident(
        "10 % of the requests fail, as OCI alone sees",
        Site(hosts=0),
        (Failing(0, 30, share=0.1),),
        (page("FssMountTargetFailing", 6, " minutes: OCI says that 10% of all requests failed. Check quotas"),),
    ),
    Incident(
        "a tenth of the requests is told to try again later",
        Site(minutes=60),
        (Failing(0, 30, share=0.1, asks_to_wait=True),),
        (
            page(
                "FssMountTargetFailing",
                6,
                "it answered JUKEBOX (try again later) to 100% of the clients that asked",
                " of all requests failed",
                ". Reduce its load, or open a support request.",
                told=10,
            ),
        ),
    ),
    Incident(
        "one client of ten is told to try again later",
        Site(),
        (Failing(0, 40, hosts=1, side="clients", asks_to_wait=True),),
        (ticket("FssClientErrors", 20, "The server answered JUKEBOX, which means try again later: reduce its load"),),
    ),
    Incident("requests fail for two minutes", Site(before=180), (Failing(0, 2),)),
    Incident(
        "all clients hang for 40 seconds in each quarter of an hour",
        Site(before=90, minutes=180),
        (Hang(every=15, lasting=2 / 3),),
        (
            ticket(
                "FssMountTargetFailing",
                120,
                "had requests that failed or had no reply in 8 of the last 360 minutes, more than three times what its error budget allows",
            ),
        ),
    ),
    Incident(
        "requests of one client of ten fail",
        Site(),
        (Failing(0, 40, hosts=1, side="clients"),),
        (
            ticket(
                "FssClientErrors", 20, "of its READs, its WRITEs or all its requests to 10.96.0.0 (/mnt/10.96.0.0), for"
            ),
        ),
    ),
    Incident(
        "every WRITE of one client of ten fails, among 130 times as many other requests",
        Site(),
        (
            Work(-30, times=0.05, operation="WRITE", side="clients"),
            Failing(0, 40, share=1.0, hosts=1, operation="WRITE", side="clients"),
        ),
        (ticket("FssClientErrors", 20),),
    ),
    Incident(
        "every WRITE of all clients fails, among 130 times as many other requests",
        Site(minutes=90),
        (
            Work(-30, times=0.05, operation="WRITE", side="clients"),
            Failing(0, 30, share=1.0, operation="WRITE", side="clients"),
        ),
        (page("FssMountTargetFailing", 6, ": its writes failed for 100% of the clients that asked. Check quotas"),),
    ),
    Incident(
        "every WRITE of all clients fails, seen by node_exporter",
        Site(hosts=4, minutes=90, host_settings=NODE_EXPORTER),
        (Failing(0, 40, share=1.0, operation="WRITE", side="clients"),),
        (page("FssMountTargetFailing", 12),),
    ),
    Incident(
        "each request takes 100 ms",
        Site(minutes=120),
        (Slow(0, 30),),
        (
            page(
                "FssMountTargetSlow",
                6,
                f"{FIRST} answered slower than its objective in ",
                " of their latency objective in file system fs-00000-0",
                " requests were slow for 100% of the clients that asked. ",
                told=10,
            ),
        ),
    ),
    Incident(
        "clients see 100 ms, and OCI does not",
        Site(),
        (Slow(0, 30, side="clients"),),
        (page("FssMountTargetSlow", 10),),
    ),
    Incident("OCI sees 100 ms, without agents", Site(hosts=0), (Slow(0, 30),), (page("FssMountTargetSlow", 8),)),
    Incident(
        "one client of ten sees 100 ms",
        Site(),
        (Slow(0, 50, hosts=1, side="clients"),),
        (ticket("FssClientSlow", 30, "client host-0:10949 to 10.96.0.0 (/mnt/10.96.0.0) took"),),
    ),
    Incident(
        "2 % of the READs of one client of ten take 200 ms longer, which moves the mean by 4 ms",
        Site(minutes=90, host_settings=P99),
        (LateReads(0, 60, hosts=1),),
        (
            ticket(
                "FssClientTailSlow",
                40,
                "of the read requests of client host-0:10949 to 10.96.0.0 (/mnt/10.96.0.0) took",
            ),
        ),
    ),
    Incident(
        "2 % of the READs of all clients take 200 ms longer",
        Site(host_settings=P99),
        (Work(-30, times=5), LateReads(0)),
        (page("FssMountTargetSlow", 10, "its read requests were slow for 100% of the clients that asked"),),
    ),
    Incident("2 % of the READs take 200 ms longer, and no p99 objective is stated", Site(), (LateReads(),)),
    Incident("0.5 % of the READs take 200 ms longer", Site(host_settings=P99), (LateReads(share=0.005),)),
    Incident(
        "2 % of the READs of a busy client take 200 ms longer",
        Site(minutes=90, host_settings=P99),
        (Work(-30, hosts=1, times=5), LateReads(0, 60, hosts=1)),
        (ticket("FssClientSlow", 25, "most of all its read requests"),),
    ),
    Incident(
        "35 ms where 50 ms are promised",
        Site(
            host_settings=HostSettings(
                latency_objectives=dict.fromkeys(("read", "write", "metadata_read", "metadata_write"), 0.05)
            ),
            settings={
                "latency_objectives": {
                    "read": dict.fromkeys(SIZES, "50ms"),
                    "write": dict.fromkeys(SIZES, "50ms"),
                    "metadata": "50ms",
                }
            },
        ),
        (Slow(milliseconds=35),),
    ),
    Incident("requests at 79 % of the latency objective", Site(), (Slow(milliseconds=7.9),)),
    Incident(
        "requests at 80 % of the latency objective",
        Site(minutes=120),
        (Slow(0, 30, milliseconds=8),),
        (
            ticket(
                "FssMountTargetLatencyHigh",
                12,
                f"{FIRST} answered near its latency objective, by the mean of five minutes: its metadata requests took 80% of their ",
            ),
        ),
    ),
    Incident(
        "requests at 85 % of the latency objective, without a poller",
        Site(pollers=0, minutes=120),
        (Slow(0, 30, milliseconds=8.5, side="clients"),),
        (
            ticket(
                "FssAddressLatencyHigh",
                15,
                "NFS server 10.96.0.0 answered metadata",
                "its clients waited 85% of the latency objective",
            ),
        ),
    ),
    Incident(
        "requests at 70 % of the latency objective, without a poller",
        Site(pollers=0),
        (Slow(milliseconds=7, side="clients"),),
    ),
    Incident(
        "requests at 85 % of the latency objective, without a poller, seen by node_exporter",
        Site(pollers=0, minutes=120, host_settings=NODE_EXPORTER),
        (Slow(0, 30, milliseconds=8.5, side="clients"),),
        (ticket("FssAddressLatencyHigh", 15),),
    ),
    Incident(
        "requests at 101 % of the latency objective",
        Site(before=180, minutes=120),
        (Slow(0, 30, milliseconds=10.1),),
        (page("FssMountTargetSlow", 9),),
    ),
    Incident(
        "requests at 90 % of the latency objective for an hour, and then at 150 %",
        Site(before=60, minutes=180),
        (Slow(0, 60, milliseconds=9), Slow(60, 90, milliseconds=15)),
        (ticket("FssMountTargetLatencyHigh", 12), page("FssMountTargetSlow", 74, since=60)),
    ),
    Incident(
        "requests at 150 % of the latency objective for an hour, and then at 90 %",
        Site(before=60, minutes=180),
        (Slow(0, 60, milliseconds=15), Slow(60, milliseconds=9)),
        (page("FssMountTargetSlow", 14),),
    ),
    Incident(
        "79 and 85 % of the latency objective in turn, for four hours",
        Site(minutes=240),
        (Slow(every=20, lasting=10, milliseconds=8.5), Slow(10, every=20, lasting=10, milliseconds=7.9)),
        (ticket("FssMountTargetLatencyHigh", 12),),
    ),
    Incident(
        "READs of one of three file systems take 60 ms for three hours, as OCI alone sees",
        Site(file_systems=3, before=60, minutes=180),
        (Slow(milliseconds=60, kind="Read", file_system=1, side="oci"),),
        (page("FssMountTargetSlow", 11, "fs-00000-1"),),
    ),
    Incident(
        "a cron job makes requests slow for two minutes each half hour, for four hours",
        Site(before=360, minutes=240),
        (Slow(every=30, lasting=2),),
        (
            ticket(
                "FssMountTargetSlow",
                220,
                " answered slower than its objective in ",
                " of the last 360 minutes, more than three",
            ),
        ),
    ),
    Incident(
        "clients that were idle for two hours wake up and get answers after 30 ms for 90 seconds",
        Site(hosts=12, before=150),
        (Work(-130, 0, times=0), Slow(0, 1.5, milliseconds=30, side="clients")),
    ),
    Incident(
        "clients are slow in the ten seconds before each scrape, for two hours",
        Site(minutes=120),
        (Slow(every=1, lasting=0.1, side="clients"),),
    ),
    Incident(
        "clients are slow for 40 seconds of each minute, and not when they are scraped",
        Site(),
        (Slow(0.25, 30, every=1, lasting=0.6, side="clients"),),
        (page("FssMountTargetSlow", 6),),
    ),
    Incident(
        "clients are slow for 15 seconds of each five minutes, scraped each 15 seconds",
        Site(minutes=120, scraped=15),
        (Slow(every=5, lasting=0.25, side="clients"),),
    ),
    Incident(
        "60 clients join two, and are slow for three minutes",
        Site(hosts=62, before=180),
        (Down(-180, 0, first=2, hosts=60, is_listed=False), Slow(0, 3, first=2, hosts=60, side="clients")),
    ),
    Incident(
        "two of ten clients are 35 ms away",
        Site(minutes=120),
        (Slow(hosts=2, side="clients", milliseconds=35),),
        (ticket("FssClientSlow", 30),),
    ),
    Incident(
        "requests take 100 ms for 30 seconds of each five minutes, for two hours",
        Site(hosts=4, before=60, minutes=120),
        (Slow(every=5, lasting=0.5),),
        (page("FssMountTargetSlow", 45),),
    ),
    Incident(
        "requests are slow for six minutes each half hour, for three hours",
        Site(before=360, minutes=180),
        (Slow(every=30, lasting=6),),
        (page("FssMountTargetSlow", 45),),
    ),
    Incident(
        "a client retransmits a tenth of its requests",
        Site(),
        (Retransmitting(0, 30, hosts=1, share=0.1),),
        (ticket("FssClientRetransmissions", 20, "of its requests to 10.96.0.0 (/mnt/10.96.0.0) again"),),
    ),
)

LOAD_AND_CEILINGS = (
    Incident(
        "96 % of the IOPS ceiling",
        Site(),
        (Work(times=9.6, side="oci"),),
        (
            ticket(
                "FssMountTargetIopsHigh",
                16,
                f"{FIRST} used about 96% of its IOPS ceiling: the scraped clients explained ",
                "% of the IOPS (look for hosts without an agent). Reduce",
            ),
        ),
    ),
    Incident(
        "the IOPS ceiling is reached for a single minute of an hour",
        Site(minutes=120),
        (Work(times=10, side="oci", every=60, lasting=1),),
    ),
    Incident(
        "LOOKUPs fill a mount target, and what OCI publishes of the load is a tenth",
        Site(publishes_iops=False),
        (Work(times=72, side="clients"),),
        (ticket("FssMountTargetIopsHigh", 20, FIRST, " IOPS ceiling: READ caused ", "% of the IOPS. Reduce"),),
    ),
    Incident(
        "one of ten clients causes a third of the load that fills a mount target",
        Site(publishes_iops=False),
        (Work(times=50, side="clients"), Work(times=5, side="clients", hosts=1)),
        (ticket("FssMountTargetIopsHigh", 20, FIRST, "host-0:10949 caused 3", "% of the IOPS"),),
    ),
    Incident("70 % of the IOPS ceiling", Site(), (Work(times=7, side="oci"),)),
    Incident(
        "72 % of the IOPS ceiling, where the configuration warns at 70 %",
        Site(settings={"warning_ratio": 0.7}),
        (Work(times=7.2, side="oci"),),
        (ticket("FssMountTargetIopsHigh", 16, f"{FIRST} used about 72% of its IOPS ceiling"),),
    ),
    Incident(
        "86 % of the IOPS ceiling and of the latency objective, where the configuration warns at 90 %",
        Site(settings={"warning_ratio": 0.9}),
        (Work(times=8.6, side="oci"), Slow(milliseconds=8.6)),
    ),
    Incident(
        "the poller starts at 70 % of the IOPS ceiling", Site(), (Work(-60, times=7, side="oci"), PollerDown(-60, 0))
    ),
    Incident(
        "the poller restarts at 70 % of the IOPS ceiling, estimated, and minutes come in pairs",
        Site(publishes_iops=False),
        (Work(-60, times=7, side="oci"), InGroups(-60, minutes=2), PollerDown(10, 12)),
    ),
    Incident(
        "the IOPS ceiling is reached, and the poller dies",
        Site(),
        (Work(times=9.6, side="oci"), PollerDown(20)),
        (ticket("FssMountTargetIopsHigh", 30, FIRST), page("FssOciPollerDown", 30, since=20)),
    ),
    Incident(
        "the poller dies, and clients fill the mount target 15 minutes later",
        Site(),
        (PollerDown(), Work(15, times=72)),
        (page("FssOciPollerDown", 15), ticket("FssMountTargetIopsHigh", 30, FIRST, since=15)),
    ),
    Incident(
        "the poller dies, and clients fill a mount target that may read 500 and write 200 MB/s",
        Site(
            settings={
                "limits.shapes": {"standard": {"read_bytes_per_second": 500e6, "write_bytes_per_second": 200e6}},
            }
        ),
        (PollerDown(), Work(15, times=72)),
        (
            page("FssOciPollerDown", 15),
            ticket("FssMountTargetReadBandwidthHigh", 30, " carried many reads: it used at least ", since=15),
        ),
    ),
    Incident(
        "OCI publishes 20 minutes late, and clients fill the mount target",
        Site(minutes=90),
        (Late(minutes=20), Work(40, times=72)),
        (ticket("FssOciDataLate", 20), page("FssOciDataLate", 30), ticket("FssMountTargetIopsHigh", 55, since=40)),
    ),
    Incident(
        "78 and 82 % of the IOPS ceiling in turn, for four hours",
        Site(minutes=240),
        (Work(times=7.8, side="oci"), Work(times=82 / 78, side="oci", every=20, lasting=10)),
        (ticket("FssMountTargetIopsHigh", 16),),
    ),
    Incident(
        "a mount target at its IOPS ceiling gets another name",
        Site(minutes=90),
        (Work(times=9.6, side="oci"), Listed(20, field="displayName", value="renamed")),
        (ticket("FssMountTargetIopsHigh", 60, "Mount target renamed (10.96.0.0"),),
    ),
    Incident(
        "a mount target of a shape without a known IOPS ceiling is slow under load",
        Site(),
        (Listed(-30, field="observedThroughput", value=60), Work(times=20, side="oci"), Slow(0, 30)),
        (page("FssMountTargetSlow", 12),),
    ),
    Incident(
        "the IOPS ceiling in two of five minutes",
        Site(),
        (Work(times=10, side="oci", every=5, lasting=2),),
        (ticket("FssMountTargetIopsHigh", 16),),
    ),
    Incident(
        "the IOPS ceiling in each second minute, estimated, and minutes come in pairs",
        Site(publishes_iops=False),
        (Work(times=10, side="oci", every=2, lasting=1), InGroups(-30, minutes=2)),
        (ticket("FssMountTargetIopsHigh", 16),),
    ),
    Incident(
        "the IOPS ceiling is reached, and requests become slow 40 minutes later",
        Site(minutes=120),
        (Work(times=9.6, side="oci"), Slow(40, 80)),
        (ticket("FssMountTargetIopsHigh", 16), page("FssMountTargetSlow", 52, since=40)),
    ),
    Incident(
        "reads use 95 % of the bandwidth",
        Site(),
        (Published(metric="MountTargetReadThroughput", value=0.95e9),),
        (
            ticket(
                "FssMountTargetReadBandwidthHigh",
                15,
                "it used 95% of its read bandwidth",
                "% of the reads (look for hosts without an agent)",
            ),
        ),
    ),
    Incident(
        "reads use 95 % of the bandwidth, OCI stops to publish, and clients are slow",
        Site(minutes=45),
        (
            Published(metric="MountTargetReadThroughput", value=0.95e9),
            Silent(15),
            Slow(25, side="clients"),
        ),
        (
            ticket("FssMountTargetReadBandwidthHigh", 15),
            ticket("FssOciDataLate", 35, since=15),
            page("FssOciDataLate", 45, since=15),
            page(
                "FssMountTargetSlow",
                36,
                "more than ten minutes ago it used 95% of its read bandwidth",
                since=25,
                told=38,
            ),
        ),
    ),
    Incident(
        "writes use 95 % of the bandwidth",
        Site(),
        (Published(metric="MountTargetWriteThroughput", value=0.95e9),),
        (ticket("FssMountTargetWriteBandwidthHigh", 15),),
    ),
    Incident(
        "IOPS and bandwidth are full, and requests are slow",
        Site(minutes=120),
        (
            Work(times=9.6, side="oci"),
            Published(metric="MountTargetReadThroughput", value=0.95e9),
            Published(metric="MountTargetWriteThroughput", value=0.95e9),
            Slow(0, 60),
        ),
        (
            ticket("FssMountTargetReadBandwidthHigh", 15, "95% of its read bandwidth", "96% of its IOPS ceiling"),
            page("FssMountTargetSlow", 12),
        ),
    ),
    Incident(
        "95 % of the connections",
        Site(),
        (Published(metric="MountTargetConnections", value=95_000),),
        (ticket("FssMountTargetConnectionsHigh", 15, f"{FIRST} used 95% of its ceiling of connections."),),
    ),
    Incident(
        "nine hosts have encrypted mounts, where ten connections are the ceiling",
        Site(
            hosts=9,
            host_settings=HostSettings(mount_options=",xprtsec=tls"),
            settings={"limits": {"mount_targets": {"mt-00000": {"encrypted_connections": 10}}}},
        ),
        (Down(-30, 0, first=4, is_listed=False),),
        (
            ticket(
                "FssMountTargetConnectionsHigh",
                15,
                f"{FIRST} used at least 90% of its ceiling of encrypted connections, because OCI counts none",
            ),
        ),
    ),
    Incident(
        "all load of a file system is on one of two mount targets",
        Site(mount_targets=2, shares=True, minutes=90),
        (Work(times=6, side="oci", targets=(0,)), Work(times=0.1, side="oci", targets=(1,))),
        (
            ticket(
                "FssFileSystemLoadUneven",
                80,
                "mt-00000 carries 2.0 times the mean of the mount targets of file system fs-00000-0",
            ),
        ),
    ),
    Incident(
        "a full mount target, and the tenancy may have no further one",
        Site(minutes=90),
        (ServiceLimit(-30), Work(times=9.6, side="oci")),
        (
            ticket("FssMountTargetIopsHigh", 16),
            ticket("FssMountTargetLimitReached", 80, "and a mount target there came near a ceiling"),
        ),
    ),
    Incident(
        "a full mount target, and another availability domain may have no further one",
        Site(mount_targets=2, minutes=90),
        (
            ServiceLimit(-30),
            Listed(-30, field="availabilityDomain", value="Uocm:EU-FRANKFURT-1-AD-9"),
            Work(times=9.6, side="oci", targets=(0,)),
        ),
        (ticket("FssMountTargetIopsHigh", 16),),
    ),
    Incident(
        "the tenancy may have no further file system",
        Site(minutes=60),
        (ServiceLimit(name="file-system-count"),),
        (ticket("FssFileSystemLimitReached", 30, "has 1 file system(s), which is its service limit"),),
    ),
    Incident(
        "NFS fills the network card of a client",
        Site(host_settings=ONE_MEGABYTE),
        (Work(times=1.6, hosts=1, side="clients"),),
        (ticket("FssClientNetworkHigh", 30),),
    ),
    Incident(
        "NFS fills the network card of a client, whose requests are slow for it",
        Site(host_settings=ONE_MEGABYTE),
        (Work(times=1.6, hosts=1, side="clients"), Slow(hosts=1, side="clients")),
        (ticket("FssClientNetworkHigh", 30),),
    ),
    Incident(
        "a mount of /etc/fstab is gone on one host of ten",
        Site(mount_targets=2, mounts=2),
        (Unmounted(hosts=1, targets=(1,)),),
        (
            ticket(
                "FssClientMountMissing",
                17,
                "Client host-0:10949 lacks 1 mount(s) of /etc/fstab, for example /mnt/10.96",
            ),
        ),
    ),
    Incident(
        "a mount of /etc/fstab is gone for ten minutes",
        Site(mount_targets=2, mounts=2),
        (Unmounted(0, 10, hosts=1, targets=(1,)),),
    ),
    Incident(
        "a service of another provider is at its bandwidth",
        Site(pollers=0, host_settings=APSARA),
        (Work(times=20, side="clients"),),
        (ticket("FssAddressUtilisationHigh", 20),),
    ),
    Incident(
        "a block volume is at its ceiling and throttled",
        Site(has_extras=True, settings={"oci.services": ["block-volume"]}),
        (Published(-60, 0, metric="VolumeReadOps", value=600), Published(-60, 0, metric="VolumeThrottledIOs", value=0)),
        (ticket("FssServiceUtilisationHigh", 20), ticket("FssVolumeThrottled", 30, "Block volume db-data (")),
    ),
)

RESOURCES = (
    Incident(
        "a mount target stays in UPDATING",
        Site(minutes=90),
        (Listed(field="lifecycleState", value="UPDATING"),),
        (ticket("FssMountTargetNotActive", 80),),
    ),
    Incident(
        "the LDAP server of two mount targets does not answer",
        Site(mount_targets=2, has_extras=True),
        (Published(metric="LdapConnectionErrors", dimension="Timeout", value=6),),
        (ticket("FssLdapErrors", 20),),
    ),
    Incident(
        "a third of the LDAP lookups fail",
        Site(has_extras=True),
        (Published(metric="LdapRequestErrors", value=80),),
        (ticket("FssLdapLookupsFailing", 30),),
    ),
    Incident(
        "the keytab of a mount target is old",
        Site(has_extras=True),
        (Published(metric="KerberosErrors", dimension="Key Version Mismatch", value=6),),
        (ticket("FssKerberosErrors", 20),),
    ),
    Incident(
        "writes fail at a hard quota",
        Site(has_extras=True),
        (Published(metric="UserHardQuotaViolations", value=60),),
        (ticket("FssFileSystemQuotaExceeded", 15),),
    ),
    Incident(
        "writes pass a soft quota",
        Site(has_extras=True),
        (Published(metric="UserSoftQuotaViolations", value=60),),
        (ticket("FssFileSystemSoftQuotaExceeded", 15, "writes to file system"),),
    ),
    Incident(
        "a replication is three intervals behind",
        Site(has_extras=True, minutes=120),
        (Published(metric="ReplicationRecoveryPointAge", value=10_800),),
        (ticket("FssReplicationBehind", 90, "of replication projects-to-zurich ("),),
    ),
)

MONITORING = (
    Incident(
        "OCI publishes 8 minutes late for an hour",
        Site(minutes=120),
        (Late(0, 60, minutes=8),),
        (ticket("FssOciDataLate", 20, "The newest data of the mount targets of eu-frankfurt-1"),),
    ),
    Incident(
        "OCI publishes nothing for 40 minutes, then all at once",
        Site(minutes=90),
        (Silent(0, 40),),
        (ticket("FssOciDataLate", 20), page("FssOciDataLate", 30)),
    ),
    Incident(
        "the clock of a poller is ten minutes wrong for an hour",
        Site(minutes=120),
        (Clock(0, 60, seconds=600),),
        (
            ticket(
                "FssCollectorFailing",
                15,
                "have a clock that is more than a minute off, for example poller-0:10949 by 10m 0s",
            ),
        ),
    ),
    Incident(
        "the clock of a poller is half an hour behind",
        Site(),
        (Clock(seconds=-1800),),
        (ticket("FssCollectorFailing", 15),),
    ),
    Incident(
        "OCI fails for one metric for an hour",
        Site(minutes=120),
        (Answer(0, 60, fault="503:SummarizeMetricsData,match=MountTargetHealth"),),
        (ticket("FssCoverageIncomplete", 30, " For example, poller-0:10949 lacks "),),
    ),
    Incident(
        "OCI stops to publish the health of one mount target",
        Site(mount_targets=2, minutes=90),
        (Published(metric="MountTargetHealth", value=None, targets=(0,)),),
        (ticket("FssMountTargetDataMissing", 70, "for example mt-00000"),),
    ),
    Incident(
        "OCI fails for all metrics for an hour",
        Site(minutes=120),
        (Answer(0, 60, fault="503:SummarizeMetricsData"),),
        (
            ticket("FssCoverageIncomplete|FssCollectorFailing|FssOciDataLate", 20),
            page(
                "FssOciDataLate", 30, " are not seen. Calls of the poller failed (503). Look at the log of the poller"
            ),
        ),
    ),
    Incident(
        "a permission is lost: the inventory of a region fails for an hour",
        Site(minutes=120),
        (Answer(0, 60, fault="deny:ListExports"),),
        (ticket("FssCoverageIncomplete", 40),),
    ),
    Incident("two shards see one region", Site(pollers=2, mount_targets=4, has_shards=True, minutes=120), ()),
    Incident(
        "one of two shards gets no answers to its queries",
        Site(pollers=2, mount_targets=4, has_shards=True, minutes=90),
        (Answer(0, 60, fault="503:SummarizeMetricsData", poller=1),),
        (ticket("FssCoverageIncomplete|FssCollectorFailing|FssOciDataLate", 20), page("FssOciDataLate", 30)),
    ),
    Incident(
        "one of two equal pollers gets no answers to its queries",
        Site(pollers=2, minutes=90),
        (Answer(0, 60, fault="503:SummarizeMetricsData", poller=1),),
        (ticket("FssCoverageIncomplete|FssCollectorFailing", 20),),
    ),
    Incident(
        "OCI throttles two of three queries",
        Site(minutes=90),
        (Answer(fault="429:SummarizeMetricsData,match=FileSystem"),),
        (ticket("FssCollectorFailing", 45), ticket("FssCoverageIncomplete", 30)),
    ),
    Incident(
        "the poller dies",
        Site(),
        (PollerDown(),),
        (page("FssOciPollerDown", 15, "Poller poller-0:10949 has not polled eu-frankfurt-1"),),
    ),
    Incident(
        "the poller dies, and there are no agents", Site(hosts=0), (PollerDown(),), (page("FssMonitoringBlind", 12),)
    ),
    Incident(
        "a roll-out replaces 40 pods of agents, one a minute",
        Site(hosts=80),
        (
            *(Down(pod, first=pod, hosts=1, is_listed=False) for pod in range(40)),
            *(Down(-30, pod + 1, first=40 + pod, hosts=1, is_listed=False) for pod in range(40)),
        ),
    ),
    Incident(
        "agents cover everything, and OCI fails for all metrics for an hour",
        Site(minutes=90),
        (Work(-30, times=4.4, side="clients"), Answer(0, 60, fault="503:SummarizeMetricsData")),
        (ticket("FssCoverageIncomplete|FssCollectorFailing", 20),),
    ),
    Incident(
        "agents cover everything, OCI fails for all metrics, and clients are slow",
        Site(minutes=90),
        (
            Work(-30, times=4.4, side="clients"),
            Answer(0, 60, fault="503:SummarizeMetricsData"),
            Slow(10, 50, side="clients"),
        ),
        (ticket("FssCoverageIncomplete|FssCollectorFailing", 20), page("FssMountTargetSlow", 25)),
    ),
    Incident(
        "OCI refuses the credentials of the poller, and agents cover everything",
        Site(minutes=90),
        (Work(-30, times=4.4, side="clients"), Answer(0, 60, fault="401:")),
        (ticket("FssOciCredentialsRefused", 15, "is not accepted"),),
    ),
    Incident(
        "OCI refuses the credentials of the poller, and there are no agents",
        Site(hosts=0, minutes=60),
        (Answer(fault="401:"),),
        (ticket("FssOciCredentialsRefused", 15), page("FssOciDataLate|FssMonitoringBlind", 30)),
    ),
    Incident(
        "the poller dies every two minutes while 10 % of the requests fail, as OCI alone sees",
        Site(hosts=0, has_state_directory=True, minutes=90),
        (Failing(0, 60, share=0.1), PollerDown(0.2, every=2, lasting=0.5)),
        (
            page("FssMountTargetFailing", 15),
            ticket("FssExporterDown", 30, "started more than four times within an hour, for example poller-0:10949. "),
        ),
    ),
    Incident(
        "the poller dies every two minutes",
        Site(minutes=60),
        (PollerDown(0.2, every=2, lasting=0.5),),
        (ticket("FssExporterDown", 30),),
    ),
    Incident(
        "the poller starts each 90 seconds while 10 % of the requests fail, as OCI alone sees",
        Site(hosts=0, minutes=90),
        (Failing(0, 60, share=0.1), PollerDown(0.2, every=1.5, lasting=0.5)),
        (
            ticket(
                "FssExporterDown",
                40,
                "FssOciPollerDown may be lost, and FssMountTargetFailing and FssMountTargetSlow of what OCI alone sees",
            ),
        ),
    ),
    Incident(
        "everything is scraped every five minutes from the first start on",
        Site(before=10),
        (ScrapedRarely(-10, minutes=5, pollers_too=True),),
        (ticket("FssExporterDown", 25, "are scraped less often"),),
    ),
    Incident(
        "the poller is gone from service discovery",
        Site(),
        (PollerDown(is_listed=False),),
        (page("FssOciPollerDown", 15),),
    ),
    Incident("one of two pollers dies", Site(pollers=2), (PollerDown(),), (ticket("FssExporterDown", 40),)),
    Incident(
        "the poller repeats its last answer, as behind a cache",
        Site(),
        (Repeating(),),
        (page("FssOciPollerDown", 15),),
    ),
    Incident(
        "one of two pollers repeats its last answer",
        Site(pollers=2),
        (Repeating(),),
        (ticket("FssCollectorFailing", 30, "have ended no round"),),
    ),
    Incident("the loops of the poller stand still", Site(), (PollerStalled(),), (page("FssOciPollerDown", 15),)),
    Incident("a poller is away for nine minutes", Site(hosts=4, minutes=50), (PollerDown(5, 14),)),
    Incident("the poller restarts", Site(minutes=40), (PollerDown(5, 7),)),
    Incident(
        "the leader of two pollers dies, and the other one takes over",
        Site(pollers=2, standby="shared"),
        (PollerDown(),),
        (ticket("FssExporterDown", 40, "for example poller-0:10949"),),
    ),
    Incident(
        "the poller that stands by dies",
        Site(pollers=2, standby="shared"),
        (PollerDown(poller=1),),
        (ticket("FssExporterDown", 40),),
    ),
    Incident(
        "the leader dies while all requests fail",
        Site(pollers=2, standby="shared", minutes=90),
        (Failing(0, 45, share=1.0), PollerDown(10, 60)),
        (page("FssMountTargetDown|FssMountTargetFailing", 10), ticket("FssExporterDown", 45, since=10)),
    ),
    Incident(
        "a leader and the poller that stands by restart in turn each ten minutes",
        Site(pollers=2, standby="shared", minutes=90),
        tuple(PollerDown(at, at + 2, poller=at // 10 % 2) for at in range(0, 80, 10)),
    ),
    Incident(
        "a leader and the poller that stands by both die",
        Site(pollers=2, standby="shared"),
        (PollerDown(), PollerDown(poller=1)),
        (page("FssOciPollerDown", 15),),
    ),
    Incident(
        "the leader cannot read the shared directory for an hour",
        Site(pollers=2, standby="shared", minutes=90),
        (LeaseUnreadable(0, 60),),
        (
            ticket(
                "FssCollectorFailing", 20, "The oci_lease collector of 1 exporter(s) of job fss fails or stands still"
            ),
        ),
    ),
    Incident(
        "the poller that stands by cannot read the shared directory",
        Site(pollers=2, standby="shared"),
        (LeaseUnreadable(poller=1),),
        (ticket("FssCollectorFailing", 20),),
    ),
    Incident(
        "two pollers that should lead in turn share no directory",
        Site(pollers=2, standby="apart", minutes=40),
        (PollerDown(-60, 0, poller=1, is_listed=False),),
        (
            ticket(
                "FssCollectorFailing", 15, "2 exporter(s) of job ", "lead for the same mount targets of eu-frankfurt-1"
            ),
        ),
    ),
    Incident(
        "two pollers publish and none stands by",
        Site(pollers=2, minutes=40, settings={"oci.publish": True}),
        (PollerDown(-60, 0, poller=1, is_listed=False),),
        (ticket("FssCollectorFailing", 15, "paid twice"),),
    ),
    Incident(
        "a host joins, and its agent answers five minutes later",
        Site(),
        (Down(-60, 0, hosts=1, is_listed=False), Down(0, 5, hosts=1)),
    ),
    Incident(
        "the agent of one host dies each six minutes",
        Site(),
        (Down(0, 60, every=6, lasting=1, hosts=1),),
        (
            ticket(
                "FssExporterDown",
                35,
                "1 exporter(s) of job fss-agent started more than four times within an hour, for example host-0:10949. ",
            ),
        ),
    ),
    Incident(
        "a roll-out restarts one agent after another",
        Site(minutes=30),
        tuple(Down(number, number + 1, first=number, hosts=1) for number in range(10)),
    ),
    Incident(
        "a roll-out restarts 30 % of the agents at once, wave after wave",
        Site(),
        tuple(Down(4 * wave, 4 * wave + 3, first=3 * wave, hosts=3) for wave in range(4)),
    ),
    Incident(
        "6 of 30 nodes are drained, leave service discovery two minutes later, and are back after 20 minutes",
        Site(hosts=30, minutes=45),
        (Down(8, 10, hosts=6), Down(10, 30, hosts=6, is_listed=False)),
    ),
    Incident(
        "hosts live seven minutes, and others follow them",
        Site(),
        tuple(Down(number - 30, every=10, lasting=3, first=number, hosts=1, is_listed=False) for number in range(10)),
    ),
    Incident(
        "the clocks of hosts are ten minutes ahead, and are then set half an hour behind",
        Site(minutes=90),
        (HostClock(0, 30, seconds=600), HostClock(30, seconds=-1800)),
    ),
    Incident(
        "two of ten agents are dead", Site(), (Down(hosts=2),), (ticket("FssExporterDown", 35, "for example host-"),)
    ),
    Incident(
        "no agent answers, where OCI is not polled",
        Site(hosts=5, pollers=0),
        (Down(),),
        (page("FssMonitoringBlind", 20),),
    ),
    Incident(
        "the hosts of a fleet are switched off for the night, where OCI is not polled",
        Site(hosts=5, pollers=0),
        (Down(is_listed=False),),
        (ticket("FssExporterDown", 20, "No exporter is in service discovery any more", "or mute this ticket"),),
    ),
    Incident(
        "hosts and poller are switched off for the night, and start again",
        Site(hosts=5, minutes=80),
        (Down(0, 50, is_listed=False), PollerDown(0, 50, is_listed=False)),
        (ticket("FssExporterDown", 20),),
    ),
    Incident(
        "two of ten agents cannot read mountstats",
        Site(),
        (Unreadable(hosts=2),),
        (ticket("FssCollectorFailing", 15, "2 exporter(s) of job fss-agent fails", "for example host-"),),
    ),
    Incident(
        "two of ten agents read the mounts of their own container",
        Site(),
        (OwnMounts(hosts=2),),
        (ticket("FssCoverageIncomplete|FssCollectorFailing", 15),),
    ),
    Incident(
        "no agent can read mountstats, where OCI is not polled",
        Site(hosts=5, pollers=0),
        (Unreadable(),),
        (page("FssMonitoringBlind", 20),),
    ),
    Incident(
        "two of ten agents refuse a changed configuration for half an hour",
        Site(),
        (ReloadRefused(0, 30, hosts=2),),
        (
            ticket(
                "FssCollectorFailing",
                15,
                "2 exporter(s) of job fss-agent refused a changed configuration and use the one before, for example host-",
            ),
        ),
    ),
    Incident(
        "an agent refuses a configuration that is corrected within five minutes",
        Site(minutes=30),
        (ReloadRefused(0, 5, hosts=1),),
    ),
    Incident(
        "the loop of an agent stands still",
        Site(),
        (Stalled(hosts=1),),
        (
            ticket(
                "FssCollectorFailing", 40, "The nfs collector of 1 exporter(s) of job fss-agent fails or stands still"
            ),
        ),
    ),
    Incident(
        "agents skip a record of a new kernel", Site(), (Garbled(hosts=2),), (ticket("FssCoverageIncomplete", 40),)
    ),
    Incident(
        "everything is scraped every five minutes, and a mount target is full",
        Site(),
        (ScrapedRarely(minutes=5, pollers_too=True), Work(times=9.6, side="oci")),
        (ticket("FssMountTargetIopsHigh", 20), ticket("FssExporterDown", 45)),
    ),
    Incident("agents are scraped every six minutes", Site(), (ScrapedRarely(),), (ticket("FssExporterDown", 45),)),
    Incident(
        "node_exporter cannot read mountstats",
        Site(host_settings=NODE_EXPORTER),
        (Unreadable(hosts=2),),
        (ticket("FssCollectorFailing", 20),),
    ),
    Incident(
        "agents do not know their network",
        Site(before=5, minutes=40, host_settings=HostSettings(network=None)),
        (),
        (ticket("FssCoverageIncomplete", 15, "do not know their network"),),
    ),
    Incident(
        "a mount target is at 45 % of its IOPS ceiling, and its two hosts run a second agent",
        Site(hosts=2, publishes_iops=False, minutes=30),
        (Work(-30, times=99, side="clients"), SecondAgent()),
        (
            ticket(
                "FssCoverageIncomplete", 20, "2 host(s) have more than one agent, for example host-", ":10949 and pod-"
            ),
        ),
    ),
    Incident(
        "the listing of mount targets is empty while OCI publishes their data",
        Site(mount_targets=2, minutes=70),
        (Unlisted(target=0), Unlisted(target=1)),
        (
            ticket(
                "FssCoverageIncomplete",
                45,
                "have gaps in their mount targets of eu-frankfurt-1. For example, poller-0:10949 lacks 2. ",
            ),
        ),
    ),
    Incident("a mount target is missing in a listing", Site(mount_targets=2), (Unlisted(0, 12),)),
    Incident(
        "a mount target is deleted",
        Site(mount_targets=2),
        (Unlisted(target=1), Published(targets=(1,)), Work(targets=(1,), times=0.0)),
    ),
)

INCIDENTS: tuple[Incident, ...] = (
    *NOTHING_IS_WRONG,
    *DOES_NOT_SERVE,
    *REQUESTS_FAIL_OR_ARE_SLOW,
    *LOAD_AND_CEILINGS,
    *RESOURCES,
    *MONITORING,
)

# Alerts that no incident wants, with the reason.
NOT_TRIED = {
    "FssServiceSpaceForecast": "needs days of growth, which with_space_forecast.py plays",
    "FssMountTargetCeilingForecast": "needs weeks of load",
    "FssReplicationAgeMissing": "needs a day of a replication",
}
