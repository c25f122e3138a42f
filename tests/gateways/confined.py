"""`server.py` without root's way around permissions, or in a mount namespace of its own.

TEST_UNPRIVILEGED takes all capabilities from the process. TEST_MOUNT is a folder that becomes a file system of its own,
with the options in TEST_MOUNT_OPTIONS. The process ends with the status `UNSUPPORTED` where the kernel refuses that.
"""

import ctypes
import os
import runpy
import sys
from pathlib import Path

UNSUPPORTED = 77
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
CAPABILITIES_3 = 0x20080522  # _LINUX_CAPABILITY_VERSION_3

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    function = getattr(_libc, name, None)
    if function is None or function(*arguments) != 0:
        print(f"{name} is refused: {os.strerror(ctypes.get_errno())}")  # noqa: T201
        sys.exit(UNSUPPORTED)


def _drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())  # effective, permitted and inheritable, in two words each


def _mount(folder: str, options: str) -> None:
    user, group = os.geteuid(), os.getegid()
    _call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    flags = 1 if options == "ro" else 0  # MS_RDONLY
    data = options.encode() if not flags else None
    _call("mount", b"parley", folder.encode(), b"tmpfs", ctypes.c_ulong(flags), data)


if __name__ == "__main__":
    if "TEST_MOUNT" in os.environ:
        _mount(os.environ["TEST_MOUNT"], os.environ["TEST_MOUNT_OPTIONS"])
    if "TEST_UNPRIVILEGED" in os.environ:
        _drop_capabilities()
    runpy.run_path(str(Path(__file__).parents[2] / "server.py"), run_name="__main__")
