"""The region publishes the metrics that Oracle documents, with their dimensions."""

from collections.abc import Callable

from tests.fss_toolbox.demo.sdk import Clients, clients
from tests.region import Region, Tenancy, large, small

from fss_toolbox.demo.region.metric_streams import published_metrics

ROWS = [row for row in published_metrics() if row.namespace == "oci_filestorage"]

_EXPORT = {"resourceId", "mountTargetId", "resourceType"}
_TARGET = {"resourceId", "resourceType"}
_LDAP = {"resourceId", "mountTargetId", "mtResourceName", "obcResourceName"}

# Dimensions by name, in order and case of "File System Metrics", and then the metric of the white paper.
#
# `resourceType` of file systems and mount targets is as Oracle's own script reads it.
DIMENSIONS: dict[str, set[str]] = {
    **{f"FileSystem{way}Throughput": _EXPORT | {"throughput"} for way in ("Read", "Write")},
    **{f"FileSystem{way}RequestsbySize": _EXPORT | {"size"} for way in ("Read", "Write")},
    **{f"FileSystem{way}AverageLatencybySize": _EXPORT | {"size"} for way in ("Read", "Write")},
    "MetadataRequestAverageLatency": _EXPORT | {"operation"},
    "MetadataIOPS": _EXPORT | {"operation"},
    "FileSystemUsage": _EXPORT,
    **{f"User{kind}QuotaViolations": {"resourceId", "resourceName", "resourceType"} for kind in ("Soft", "Hard")},
    "snapshotsGovernanceMode": {"tenantId"},
    "snapshotsComplianceMode": {"tenantId"},
    "retentionLockDuration": {"lockMode"},
    **{
        f"Replication{what}": {"resourceId", "resourceName", "resourceType"}
        for what in ("Throughput", "EgressThroughput", "RecoveryPointAge")
    },
    **{f"MountTarget{way}Throughput": _TARGET | {"throughput"} for way in ("Read", "Write")},
    "MountTargetConnections": _TARGET,
    "MountTargetHealth": _TARGET | {"healthItem"},
    "KerberosErrors": {"resourceId", "mtResourceName", "errorType"},
    "LdapRequestThroughput": _LDAP | {"requestType"},
    "LdapRequestAverageLatency": _LDAP | {"requestType"},
    "LdapConnectionErrors": _LDAP | {"errorType"},
    "LdapRequestErrors": _LDAP | {"requestType", "errorType"},
    "MountTargetIOPS": _TARGET,
}


class TestNames:
    def test_the_documented_ones_are_there_and_the_white_paper_s(self, sdk: Clients) -> None:
        listed = sdk.monitoring.list_metrics(
            sdk.region.tenancy.id,
            {"namespace": "oci_filestorage", "groupBy": ["name"]},
            compartment_id_in_subtree=True,
        ).data
        assert [row.name for row in listed] == [*DIMENSIONS]

    def test_every_stream_has_the_documented_dimensions_unit_and_description(self, sdk: Clients) -> None:
        for row in ROWS:
            streams = sdk.summarize(f"{row.name}[1m].mean()")
            assert streams, row.name
            for stream in streams:
                assert set(stream.dimensions) == DIMENSIONS[row.name], row.name
                assert set(stream.metadata) == {"unit", "displayName", "description"}, row.name
                assert all(stream.metadata.values()), row.name
                assert stream.name == row.name

    def test_a_tenancy_may_lack_the_undocumented_one(self, regions: Callable[..., Region]) -> None:
        from dataclasses import replace

        sdk = clients(regions(replace(small(), publishes_iops=False)))
        assert sdk.summarize("MountTargetIOPS[1m].mean()") == []
        assert (
            sdk.monitoring.list_metrics(
                sdk.region.tenancy.id, {"name": "MountTargetIOPS"}, compartment_id_in_subtree=True
            ).data
            == []
        )

    def test_resource_types_are_spelt_as_oracle_s_own_script_reads_them(self, sdk: Clients) -> None:
        def types(metric: str) -> set[str]:
            return {stream.dimensions["resourceType"] for stream in sdk.summarize(f"{metric}[1m].mean()")}

        assert types("FileSystemReadThroughput") == types("MetadataIOPS") == {"filesystem"}
        assert types("MountTargetConnections") == types("MountTargetIOPS") == {"mountTarget"}

    def test_names_are_matched_exactly(self, sdk: Clients) -> None:
        assert sdk.summarize("mounttargetiops[1m].mean()") == []
        assert sdk.summarize("FileSystemReadRequestsBySize[1m].mean()") == []


def test_a_large_tenancy_has_what_was_ordered() -> None:
    tenancy: Tenancy = large(1000)
    assert (len(tenancy.mount_targets), len(tenancy.file_systems), len(tenancy.links)) == (1000, 4000, 4000)
    assert len({target.address for target in tenancy.mount_targets}) == 1000
