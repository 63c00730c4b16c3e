"""The tenancy of the demo: small, and believable."""

from functools import cache

from fss_exporter.demo.region.building import Builder, Place
from fss_exporter.demo.region.tenancy import (
    Connector,
    FileSystem,
    Link,
    LustreFileSystem,
    MountTarget,
    Replication,
    Subnet,
    Tenancy,
    Volume,
    ocid,
)
from fss_exporter.demo.region.traffic import KIB, MIB, Traffic

REGION = "eu-frankfurt-1"
_TERABYTE = 10**12

# What applications ask, a second. MountTargetIOPS of mt-home swings between 42,000 and 47,000 of its 50,000; reads of
# mt-scratch between 0.86 and 0.95 of its 1e9 bytes.
HOME = Traffic(
    reads={4 * KIB: 4000, 32 * KIB: 1500},
    writes={4 * KIB: 1200, 32 * KIB: 400},
    operations={
        "GETATTR": 5500,
        "LOOKUP": 3000,
        "ACCESS": 2000,
        "READDIRPLUS": 150,
        "CREATE": 250,
        "REMOVE": 200,
        "SETATTR": 300,
        "RENAME": 50,
        "COMMIT": 400,
    },
)
PROJECTS = Traffic(
    reads={4 * KIB: 1000, MIB: 30},
    writes={16 * KIB: 120, MIB: 10},
    operations={"GETATTR": 2500, "LOOKUP": 700, "ACCESS": 400, "CREATE": 50, "REMOVE": 30, "SETATTR": 40},
)
PROJECTS_ASIDE = Traffic(
    reads={4 * KIB: 350, MIB: 3}, writes={16 * KIB: 42}, operations={"GETATTR": 900, "LOOKUP": 250, "ACCESS": 150}
)
SCRATCH = Traffic(
    reads={MIB: 860},
    writes={MIB: 60},
    operations={"GETATTR": 400, "LOOKUP": 80, "CREATE": 20, "REMOVE": 20, "COMMIT": 20},
)
MEDIA = Traffic(
    reads={MIB: 1100, 256 * KIB: 200}, writes={MIB: 200}, operations={"GETATTR": 300, "LOOKUP": 60, "SETATTR": 10}
)


@cache
def small(region: str = REGION) -> Tenancy:
    """Three compartments, two availability domains, five mount targets.

    mt-home (10.80.1.10, standard) is near its IOPS ceiling, mt-scratch (10.80.2.20, standard) near its read bandwidth,
    mt-media (10.80.3.30) is an HPMT-20, mt-idle (10.80.4.40) idle. File system `projects` is behind mt-home and
    mt-home-b (10.80.1.11), unevenly used. The addresses and exports are those of the recorded clients.
    """
    build = Builder("fssdemo", region)
    network, storage, batch = (build.compartment(name) for name in ("network", "storage", "batch"))
    zones = (f"qIZq:{region.upper()}-AD-1", f"qIZq:{region.upper()}-AD-2")
    here, there = Place(storage, zones[0]), Place(batch, zones[1])
    subnets = tuple(
        build.subnet(network, f"sn-{name}", f"10.80.{at}.0/24", "" if name == "media" else name)
        for at, name in enumerate(("office", "grid", "media", "spare"), 1)
    )
    ldap_id = build.id("outboundconnector", "ldap-corp")
    ldap = Connector(ldap_id, "ldap-corp", storage.id, zones[0], "ldap.corp.example", 636, "cn=nfs,dc=corp")
    targets = _mount_targets(build, here, there, subnets, ldap_id)
    systems = _file_systems(build, here, there)
    return Tenancy(
        id=build.tenancy_id,
        name="fssdemo",
        region=region,
        home_region=REGION,
        availability_domains=zones,
        compartments=(network, storage, batch),
        subnets=subnets,
        mount_targets=targets,
        file_systems=systems,
        links=_links(build, targets, systems),
        replications=(_to_zurich(build, here),),
        connectors=(ldap,),
        topics=(build.id("onstopic", "storage-oncall"),),
        streams=(build.id("stream", "alarms"),),
        lustre_file_systems=(_lustre(build, there, subnets[1]),),
        volumes=_volumes(build, here),
    )


def _to_zurich(build: Builder, place: Place) -> Replication:
    source, copy = build.id("filesystem", "projects"), ocid("filesystem", "eu-zurich-1", "projects")
    where = (place.compartment.id, place.zone)
    return Replication(build.id("replication", "projects"), "projects-to-zurich", *where, source, copy, 60, 24_000_000)


def _lustre(build: Builder, place: Place, subnet: Subnet) -> LustreFileSystem:
    """40 TB of the 125 MB/s tier bear 5e9 bytes a second; 4.4e9 are asked on average."""
    where = (place.compartment.id, place.zone, subnet.id)
    return LustreFileSystem(
        build.id("lustrefilesystem", "render"), "render", *where, 40_000, 125, 3.25e9, 1.15e9, used_share=0.72
    )


def _volumes(build: Builder, place: Place) -> tuple[Volume, ...]:
    """One volume is asked for a little more than it is guaranteed, the boot volume for next to nothing."""
    where = (place.compartment.id, place.zone)
    return (
        Volume(build.id("volume", "db-data"), "db-data", *where, 400, 20, 21_000.0, 9_900.0, 4 * KIB),
        Volume(build.id("bootvolume", "db-boot"), "db-boot", *where, 50, 10, 12.0, 30.0, 16 * KIB, boot=True),
    )


def _mount_targets(
    build: Builder, here: Place, there: Place, subnets: tuple[Subnet, ...], ldap_id: str
) -> tuple[MountTarget, ...]:
    """`observedThroughput` of a standard one is absent, 1 or 0: no document says which it is."""
    office, grid, media, spare = subnets
    make = build.mount_target
    team = {"team": "it"}
    return (
        make("mt-home", "10.80.1.10", here, office, connections=180, connector_id=ldap_id, kerberos=True, tags=team),
        make("mt-home-b", "10.80.1.11", here, office, observed_gbps=1, connections=12),
        make("mt-scratch", "10.80.2.20", there, grid, observed_gbps=1, connections=640),
        make("mt-media", "10.80.3.30", here, media, observed_gbps=20, hostname="", connections=96, health=97.5),
        make("mt-idle", "10.80.4.40", there, spare, observed_gbps=0),
    )


def _file_systems(build: Builder, here: Place, there: Place) -> tuple[FileSystem, ...]:
    return (
        build.file_system("homes", 11 * _TERABYTE, here, quota_rules=True),
        build.file_system("projects", 38 * _TERABYTE, here),
        build.file_system("scratch-a", 64 * _TERABYTE, there),
        build.file_system("scratch-b", 2 * _TERABYTE, there),
        build.file_system("masters", 240 * _TERABYTE, here),
        build.file_system("archive", 3 * _TERABYTE, there),
    )


def _links(build: Builder, targets: tuple[MountTarget, ...], systems: tuple[FileSystem, ...]) -> tuple[Link, ...]:
    home, home_b, scratch, media, idle = targets
    homes, projects, scratch_a, scratch_b, masters, archive = systems
    return (
        build.link(home, homes, "/export/a", HOME),
        build.link(home, projects, "/export/b", PROJECTS),
        build.link(home_b, projects, "/export/b", PROJECTS_ASIDE),
        build.link(scratch, scratch_a, "/export/a", SCRATCH),
        build.link(scratch, scratch_b, "/export/b"),
        build.link(media, masters, "/export/a", MEDIA),
        build.link(idle, archive, "/export/a"),
    )
