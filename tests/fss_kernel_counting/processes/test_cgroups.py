"""Control groups as runtimes and systemd write them."""

import pytest
from tests.prompt import ROOT

from fss_kernel_counting.processes.control_groups import Group, group_of

UID = "0f6e2b1c-9d3a-4c5b-8e7f-112233445566"
ESCAPED = UID.replace("-", "_")
ID = "3a" * 32
STATIC = "5c" * 16


@pytest.mark.parametrize(
    "path",
    [
        f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{ESCAPED}.slice/cri-containerd-{ID}.scope",
        f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{ESCAPED}.slice/crio-{ID}.scope",
        f"/kubepods.slice/kubepods-pod{ESCAPED}.slice/docker-{ID}.scope/nested/app.service",
        f"/kubepods/burstable/pod{UID}/{ID}",
        f"/kubepods/pod{UID}",
        f"/../../pod{UID}/{ID}",
        f"/../../../besteffort/pod{UID}/{ID}",
        f"/system.slice/containerd.service/kubepods-burstable-pod{ESCAPED}.slice:cri-containerd:{ID}",
        f"/../../kubepods-burstable-pod{ESCAPED}.slice/cri-containerd-{ID}.scope",
        f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{ESCAPED}.slice/cri-containerd-{ID}.scope",
    ],
)
@pytest.mark.parametrize("line", ["0::{}", "12:memory:{}\n1:name=systemd:/\n0::/"])
def test_every_form_of_a_pod_gives_its_uid_with_dashes(path: str, line: str) -> None:
    assert group_of(line.format(path) + "\n") == Group(pod_uid=UID)


def test_a_static_pod_has_a_hash_for_a_uid() -> None:
    path = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{STATIC}.slice/crio-{ID}.scope"

    assert group_of(f"0::{path}") == Group(pod_uid=STATIC)


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/system.slice/backup.service", "backup.service"),
        ("/system.slice/system-job.slice/job@night.service", "job@night.service"),
        ("/system.slice/agent.service/payload/inner.service", "agent.service"),
        ("/lab.slice/reader.scope", "reader.scope"),
        ("/user.slice/user-1000.slice/session-42.scope", "user-1000.slice"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service", "user-1000.slice"),
        ("/system.slice/run-u4711.service", "run-*.service"),
        ("/system.slice/run-r0123456789abcdef.scope", "run-r*abcdef.scope"),
        (f"/system.slice/docker-{ID}.scope", f"docker-{ID[:12]}.scope"),
        (f"/machine.slice/libpod-{ID}.scope/container", f"libpod-{ID[:12]}.scope"),
        (f"/docker/{ID}", f"docker/{ID[:12]}"),
        ("/init.scope", "init.scope"),
        ("/", ""),
    ],
)
def test_outside_of_pods_the_first_unit_counts(path: str, unit: str) -> None:
    assert group_of(f"0::{path}\n") == Group(unit=unit)
    assert group_of(f"3:cpu:/other.slice\n1:name=systemd:{path}\n0::/\n").unit == unit


@pytest.mark.parametrize(
    "path",
    [
        f"/user.slice/user-1000.slice/user@1000.service/kubepods-pod{ESCAPED}.slice/x.scope",
        "/user.slice/user-1000.slice/user@1000.service/sshd.service",
        f"/user.slice/user-1000.slice/user@1000.service/a\v0::/kubepods/pod{UID}",
        f"/user.slice/user-1000.slice/user@1000.service/a\x850::/kubepods/pod{UID}",
    ],
)
def test_a_user_cannot_take_the_name_of_a_pod_or_of_a_service(path: str) -> None:
    assert group_of(f"0::{path}") == Group(unit="user-1000.slice")


@pytest.mark.parametrize("text", ["", "nonsense", "0:", "::::", "0::\n"])
def test_what_is_no_cgroup_file_has_no_group(text: str) -> None:
    assert group_of(text) == Group()


@pytest.mark.parametrize(
    ("path", "job"),
    [
        # Slurm: cgroup v1, v1 with several slurmd, v2, v2 with several slurmd
        ("/slurm/uid_20821/job_10/step_batch/task_0", "10"),
        ("/slurm_node1/uid_1000/job_4711/step_0", "4711"),
        ("/system.slice/slurmstepd.scope/job_1/step_0/user/task_0", "1"),
        ("/system.slice/l40-node-01_slurmstepd.scope/job_18/step_batch/user/task_special", "18"),
        ("/../../system.slice/slurmstepd.scope/job_7/step_0", "7"),
        # OpenPBS and PBS Pro: cgroup v1, v2, and names of slices
        ("/pbs_jobs.service/jobid/2404743.opbs", "2404743"),
        ("/pbs_jobs.service/jobs/12345.gadi-pbs", "12345"),
        ("/pbs_jobs.service/jobid/12345[6].gadi-pbs", "12345[6]"),
        ("/pbspro.service/jobid/27138999.servername", "27138999"),
        ("/pbspro/27138999.servername", "27138999"),
        (r"/pbspro.slice/pbspro-27138999\x5b3\x5d.servername.slice", "27138999[3]"),
        ("/torque/1182724.batch", "1182724"),
        # LSF, by the tests of CEEMS
        ("/lsf/cluster1/job.7.12345.123443", "7"),
        ("/lsf/cluster1/job.19[3].12345.123443", "19[3]"),
        # no job: a daemon of the scheduler, a user's own folder, a longer name
        ("/system.slice/slurmd.service", ""),
        ("/system.slice/slurmstepd.scope/system", ""),
        ("/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_1", ""),
        ("/home/system.slice/slurmstepd.scope/job_1", ""),
        ("/system.slice/slurmstepd.scope/job_1x", ""),
    ],
)
@pytest.mark.parametrize("line", ["0::{}", "12:memory:{}\n1:name=systemd:/system.slice/slurmd.service\n0::/"])
def test_the_job_of_a_batch_scheduler_is_its_number_as_job_exporters_show_it(path: str, job: str, line: str) -> None:
    assert group_of(line.format(path) + "\n").job == job


_FIELD = [line.split("\t") for line in (ROOT / "tests/fixtures/field/cgroups.tsv").read_text().splitlines()[1:]]


@pytest.mark.parametrize(("path", "job"), [(path, job) for path, job, _ in _FIELD])
def test_the_job_of_a_path_that_users_showed_is_known(path: str, job: str) -> None:
    assert group_of(f"{path}\n").job == job


@pytest.mark.parametrize(
    ("inside", "job"),
    [
        ("/system.slice/slurmstepd.scope/job_5/step_0", "5"),
        (f"/cri-containerd-{ID}.scope/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0", "sEKNKTV3WPV500"),
        (f"/{ID}/slurm/uid_7/job_9", "9"),
        (f"/cri-containerd-{ID}.scope/app/slurm/uid_7/job_9", ""),
        ("/cri-containerd-x.scope", ""),
    ],
)
def test_a_job_of_a_scheduler_in_a_pod_has_pod_and_job(inside: str, job: str) -> None:
    slices = f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{ESCAPED}.slice{inside}"
    assert group_of(f"0::{slices}\n") == Group(pod_uid=UID, job=job)
    assert group_of(f"0::/kubepods/besteffort/pod{UID}{inside}\n") == Group(pod_uid=UID, job=job)


@pytest.mark.parametrize("job", ["system", "sEKNKTV3WPV50", "sEKNKTV3WPV5000", "seknktv3wpv500", "job_s5K1KKYAYG5D00"])
def test_another_name_below_the_scope_of_slurm_is_no_sluid(job: str) -> None:
    assert group_of(f"0::/system.slice/slurmstepd.scope/{job}/step_0\n").job == ""


def test_a_job_has_the_unit_of_its_scheduler_beside_it() -> None:
    path = "/system.slice/slurmstepd.scope/job_1/step_0/user/task_0"

    assert group_of(f"0::{path}\n") == Group(unit="slurmstepd.scope", job="1")
