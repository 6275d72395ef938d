"""The limits of control groups, read from files as Linux lays them out: here in a folder that stands for its root."""

import psutil
import pytest

from course_lib import cgroups, doctor

GIB = 2**30
NONE_IN_VERSION_1 = 9223372036854771712
# {what it is: (/proc/self/cgroup, {file below /sys/fs/cgroup: text}, bytes of memory, cores)}
MACHINES = {
    "no limit": ("0::/", {"memory.max": "max", "cpu.max": "max 100000"}, None, None),
    "container": ("0::/", {"memory.max": f"{GIB}", "cpu.max": "150000 100000"}, GIB, 1.5),
    "own group": ("0::/user/ada", {"user/ada/memory.max": f"{GIB}", "user/ada/cpu.max": "50000 100000"}, GIB, 0.5),
    "group above": (
        "0::/class/ada",
        {"class/ada/memory.max": f"{3 * GIB}", "class/memory.max": f"{2 * GIB}", "class/ada/cpu.max": "max 100000",
         "class/cpu.max": "200000 100000"},
        2 * GIB,
        2.0,
    ),
    "version 1": (
        "4:memory:/ada\n3:cpu,cpuacct:/ada\n1:name=systemd:/",
        {"memory/ada/memory.limit_in_bytes": f"{GIB}", "memory/memory.limit_in_bytes": f"{NONE_IN_VERSION_1}",
         "cpu/ada/cpu.cfs_quota_us": "100000", "cpu/ada/cpu.cfs_period_us": "50000"},
        GIB,
        2.0,
    ),
    "version 1, a container that does not see the groups above its own": (
        "4:memory:/docker/1f\n3:cpu:/docker/1f",
        {"memory/memory.limit_in_bytes": f"{GIB}", "cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"},
        GIB,
        1.0,
    ),
    "version 1, no limit": (
        "4:memory:/\n3:cpu:/",
        {"memory/memory.limit_in_bytes": f"{NONE_IN_VERSION_1}", "cpu/cpu.cfs_quota_us": "-1",
         "cpu/cpu.cfs_period_us": "100000"},
        NONE_IN_VERSION_1,
        None,
    ),
    "another group's limit": ("0::/ada", {"ben/memory.max": "1000", "ben/cpu.max": "1 100000"}, None, None),
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_the_lowest_limit_of_the_own_groups_counts(tmp_path, machine):
    groups, files, memory, cores = MACHINES[machine]
    for name, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{n}": t for n, t in files.items()}}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    assert cgroups.memory_limit(tmp_path) == memory
    assert cgroups.cpu_quota(tmp_path) == cores


def test_elsewhere_than_on_linux_there_is_no_limit(tmp_path):
    assert cgroups.memory_limit(tmp_path) is None and cgroups.cpu_quota(tmp_path) is None


def test_the_doctor_speaks_of_the_limit_where_it_is_below_the_machines_memory(monkeypatch):
    total = psutil.virtual_memory().total
    for limit, shown in {None: total, NONE_IN_VERSION_1: total, 2**20: 2**20}.items():
        monkeypatch.setattr(cgroups, "memory_limit", lambda limit=limit: limit)
        assert doctor.memory_limit() == shown
    assert dict(doctor.facts())["memory"] == "0.0 GiB, 0.0 free"
