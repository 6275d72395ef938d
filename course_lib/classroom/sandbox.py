"""The sandbox: Linux's own means, so that a submission can compute and nothing else.

`enclose()` gives this process a file system of its own in which only what Python needs can be read, without the keys and
without the other submissions. `confine()` takes from a forked child what is left: network, other processes, the right to
start programs, and more than its share of time, memory and disk. Neither needs the rights of an administrator.
"""

import ctypes
import os
import struct
import sys
from pathlib import Path

try:
    import resource
except ImportError:  # Windows, where nothing here can be used: why_not() says so
    resource = None

NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
READ_ONLY, BIND, REMOUNT, RECURSIVE, PRIVATE, NOSUID, NODEV, DETACH = 1, 4096, 32, 16384, 1 << 18, 2, 4, 2
SCRATCH = "/sandbox-scratch"  # the only place that can be written to; not /tmp, below which the course itself may lie
SCRATCH_BOUNDS = "size=32m,nr_inodes=2000,mode=1777"
FILES, LARGEST_FILE, PROCESSES = 64, 16 << 20, 32


def why_not():
    """Why this machine has no sandbox, in a sentence; the empty string if it has one."""
    if not sys.platform.startswith("linux"):
        return "The sandbox is made of Linux's user namespaces, and this is not Linux."
    child = os.fork()
    if child == 0:
        try:
            _namespaces(NEWUSER | NEWNS | NEWPID | NEWNET | NEWIPC)
            _mount("none", "/", None, RECURSIVE | PRIVATE)
            _mount("tmpfs", "/tmp", "tmpfs", NOSUID)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0:
        return ""
    return (f"Linux does not allow user namespaces here ({os.strerror(code)}). An administrator can: look at sysctl "
            "user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns; in a container, start it with "
            "--privileged or a seccomp profile that allows unshare.")  # fmt: skip


# ---- the zygote ----


def enclose(hidden=(), readable=()):
    """New namespaces for this process, and a root that holds only what Python needs. `hidden` folders are empty there."""
    user, group = os.geteuid(), os.getegid()
    _namespaces(NEWUSER | NEWNS | NEWNET | NEWIPC)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    _mount("none", "/", None, RECURSIVE | PRIVATE)
    root = Path("/tmp")  # covered by a file system of our own: nobody else sees it
    folders = [p for p in dict.fromkeys(map(os.path.realpath, readable)) if os.path.isdir(p)]
    links = {p: os.readlink(p) for p in ("/lib", "/lib64", "/bin") if os.path.islink(p)}
    opened = {p: os.open(p, os.O_PATH) for p in folders}  # some of them may lie below /tmp
    _mount("tmpfs", root, "tmpfs", NOSUID | NODEV, "size=4m,mode=755")
    for path, handle in opened.items():
        place = root / path.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{handle}", place, None, BIND)
        _mount("none", place, None, BIND | REMOUNT | READ_ONLY | NOSUID | NODEV)
        os.close(handle)
    for path, target in links.items():
        (root / path.lstrip("/")).symlink_to(target)
    for folder in hidden:
        _mount("tmpfs", root / os.path.realpath(folder).lstrip("/"), "tmpfs", READ_ONLY | NOSUID | NODEV, "size=4k,mode=555")
    _devices(root)
    (root / SCRATCH.lstrip("/")).mkdir()
    if not (root / "tmp").exists():
        (root / "tmp").symlink_to(SCRATCH)
    _enter(root)


def _devices(root):
    (root / "dev").mkdir()
    for name in ("null", "zero", "urandom", "random"):
        (root / "dev" / name).touch()
        _mount(f"/dev/{name}", root / "dev" / name, None, BIND)


def _enter(root):
    """Make `root` the root, and let go of the old one."""
    (root / "old").mkdir()
    os.chdir(root)
    _call("pivot_root", b".", b"old")
    os.chdir("/")
    _call("umount2", b"/old", DETACH)
    os.rmdir("/old")
    _mount("none", "/", None, BIND | REMOUNT | READ_ONLY | NOSUID)


# ---- its children ----


def separate():
    """Namespaces of its own for what is forked next: it sees no process, no socket and no file of another child."""
    _namespaces(NEWNS | NEWPID | NEWNET | NEWIPC)


def scratch():
    """An empty folder, small and in memory, that goes with the process."""
    _mount("tmpfs", SCRATCH, "tmpfs", NOSUID | NODEV, SCRATCH_BOUNDS)
    os.chdir(SCRATCH)


def size():
    """Bytes of address space that this process has; 0 where that cannot be read."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def limit(cpu, memory):
    """Bounds on seconds of CPU, bytes of address space (0: none), and files."""
    bounds = [(resource.RLIMIT_CPU, cpu), (resource.RLIMIT_FSIZE, LARGEST_FILE), (resource.RLIMIT_NOFILE, FILES),
              (resource.RLIMIT_CORE, 0)] + ([(resource.RLIMIT_AS, memory)] if memory else [])  # fmt: skip
    for kind, value in bounds:
        resource.setrlimit(kind, (value, value))


def drop_rights():
    """No capability, no way back to one, and no system call that starts a program or reaches out."""
    resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP; unknown numbers are refused, which does no harm
    _check(libc.prctl(38, 1, 0, 0, 0))  # PR_SET_NO_NEW_PRIVS
    head = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    _check(libc.capset(head, ctypes.create_string_buffer(24)))
    _forbid(libc)


# Numbers of the system calls that are refused: those that start programs, reach out, or change namespaces
FORBIDDEN = {
    "x86_64": (0xC000003E, 56, 435, (57, 58, 59, 322, 41, 42, 49, 101, 165, 166, 155, 161, 272, 308, 321, 425, 250, 298,
                                     323, 310, 311, 246, 320, 175, 313, 62, 234, 200)),
    "aarch64": (0xC00000B7, 220, 435, (221, 281, 198, 203, 200, 117, 40, 39, 41, 51, 97, 268, 280, 425, 219, 241, 282,
                                       270, 271, 104, 294, 105, 273, 129, 131, 130)),
}  # fmt: skip


def _forbid(libc):
    """A seccomp filter. New threads stay allowed (clone with CLONE_THREAD), new processes are not."""
    machine = os.uname().machine
    if machine not in FORBIDDEN:
        return  # the process limit and the namespaces hold all the same
    arch, clone, clone3, numbers = FORBIDDEN[machine]
    load, equal, any_bit, answer = 0x20, 0x15, 0x45, 0x06
    refuse, unknown, allow, kill = 0x50000 | 1, 0x50000 | 38, 0x7FFF0000, 0x80000000  # EPERM, ENOSYS
    code = [(load, 0, 0, 4), (equal, 1, 0, arch), (answer, 0, 0, kill), (load, 0, 0, 0),
            (equal, 0, 1, clone3), (answer, 0, 0, unknown)]  # fmt: skip
    for number in numbers:
        code += [(equal, 0, 1, number), (answer, 0, 0, refuse)]
    code += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_bit, 1, 0, 0x10000), (answer, 0, 0, refuse), (answer, 0, 0, allow)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    pointer = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(program)))
    _check(libc.prctl(22, 2, pointer, 0, 0))  # PR_SET_SECCOMP, filter


# ---- the calls themselves ----


def _namespaces(flags):
    _call("unshare", flags)


def _mount(source, target, kind, flags, options=""):
    _call("mount", str(source).encode(), os.fsencode(target), kind and kind.encode(), ctypes.c_ulong(flags), options.encode() or None)


NUMBERS = {"x86_64": {"pivot_root": 155}, "aarch64": {"pivot_root": 41}}


def _call(name, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, name):
        return _check(getattr(libc, name)(*args), name)
    number = NUMBERS.get(os.uname().machine, {}).get(name)
    if number is None:
        raise OSError(38, f"{name} is not known on this machine")
    return _check(libc.syscall(number, *args), name)


def _check(result, name=""):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
