"""What a container, a hub or a job queue leaves to this process: the limits of Linux control groups.

A limit may stand at the process's own group or at any group above it, and the lowest one counts. There are two
versions of control groups: in the first, still met on older hosts, each kind of limit has a tree of its own.
Source: the Linux kernel's admin guide, cgroup-v2 and cgroup-v1. Elsewhere than on Linux there are no limits.
"""

from pathlib import Path


def folders(controller, root="/"):
    """Where limits of a controller ("cpu", "memory") may stand: this process's group, and those above it.

    root: the folder in which proc and sys lie. Returns a list of Paths, some of which may not exist: a container often
    shows its own group as the topmost.
    """
    try:
        lines = (Path(root) / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return []
    found = []
    for _, controllers, group in (line.split(":", 2) for line in lines):
        if not controllers:
            tree = Path(root) / "sys/fs/cgroup"
        elif controller in controllers.split(","):
            tree = Path(root) / "sys/fs/cgroup" / controller
        else:
            continue
        own = tree / group.strip("/")
        found += [own, *(folder for folder in own.parents if folder.is_relative_to(tree))]
    return found


def numbers(file):
    """The numbers in a control group's file; [] if there is no such file, or no limit in it."""
    try:
        words = file.read_text(encoding="ascii").split()
    except OSError:
        return []
    return [int(word) for word in words] if all(word.isdigit() for word in words) else []  # no limit: "max", or -1


def memory_limit(root="/"):
    """Bytes of memory that this process's groups may use; None if there is no limit.

    Version 1 says "no limit" by a number above any memory.
    """
    names = ("memory.max", "memory.limit_in_bytes")  # in version 2, in version 1
    limits = [numbers(folder / name) for folder in folders("memory", root) for name in names]
    return min((limit[0] for limit in limits if limit), default=None)


def cpu_quota(root="/"):
    """How many cores' time this process's groups may use, a float; None if there is no limit."""
    quotas = []
    for folder in folders("cpu", root):
        older = [*numbers(folder / "cpu.cfs_quota_us"), *numbers(folder / "cpu.cfs_period_us")]
        quotas += [pair for pair in (numbers(folder / "cpu.max"), older) if len(pair) == 2]
    return min((quota / period for quota, period in quotas), default=None)
