"""A tenancy of any size, to measure with."""

from fss_exporter.demo.region.building import Builder, Place
from fss_exporter.demo.region.small import PROJECTS_ASIDE, REGION
from fss_exporter.demo.region.tenancy import FileSystem, Link, MountTarget, Subnet, Tenancy


def large(
    mount_targets: int = 1000, file_systems_each: int = 4, *, compartments: int = 1, region: str = REGION
) -> Tenancy:
    """Standard mount targets, all alike, each with file systems of its own.

    Args:
        mount_targets: how many, spread evenly over the compartments; at most 65,000.
        file_systems_each: file systems behind each.
        compartments: first-level compartments that hold them.
        region: where.
    """
    build = Builder(f"large-{mount_targets}-{file_systems_each}-{compartments}", region)
    zone = f"qIZq:{region.upper()}-AD-1"
    places = [Place(build.compartment(f"storage-{number}"), zone) for number in range(compartments)]
    subnet = build.subnet(places[0].compartment, "sn-large", "10.96.0.0/16", "large")
    targets: list[MountTarget] = []
    systems: list[FileSystem] = []
    links: list[Link] = []
    for number in range(mount_targets):
        place = places[number % compartments]
        target = _mount_target(build, number, place, subnet)
        targets.append(target)
        for at in range(file_systems_each):
            system = build.file_system(f"fs-{number:05}-{at}", 10**12, place)
            systems.append(system)
            links.append(build.link(target, system, f"/export/{at}", PROJECTS_ASIDE))
    return Tenancy(
        id=build.tenancy_id,
        name="large",
        region=region,
        home_region=REGION,
        availability_domains=(zone,),
        compartments=tuple(place.compartment for place in places),
        subnets=(subnet,),
        mount_targets=tuple(targets),
        file_systems=tuple(systems),
        links=tuple(links),
        topics=(build.id("onstopic", "storage-oncall"),),
    )


def _mount_target(build: Builder, number: int, place: Place, subnet: Subnet) -> MountTarget:
    address = f"10.96.{number >> 8}.{number & 255}"
    return build.mount_target(f"mt-{number:05}", address, place, subnet, observed_gbps=1, connections=20 + number % 80)
