"""What the kernel does with chosen system calls of this process: refuse them, or tell a tracer of them."""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Mapping

NUMBERS: Mapping[str, int] = {
    "x86_64": {
        "write": 1, "open": 2, "pwrite64": 18, "writev": 20, "sendfile": 40, "flock": 73, "fsync": 74,
        "fdatasync": 75, "truncate": 76, "ftruncate": 77, "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85,
        "link": 86, "unlink": 87, "symlink": 88, "openat": 257, "mkdirat": 258, "unlinkat": 263,
        "renameat": 264, "linkat": 265, "symlinkat": 266, "splice": 275, "fallocate": 285, "pwritev": 296,
        "syncfs": 306, "renameat2": 316, "copy_file_range": 326, "pwritev2": 328, "io_uring_setup": 425,
        "openat2": 437,
    },
    "aarch64": {
        "flock": 32, "mkdirat": 34, "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38,
        "truncate": 45, "ftruncate": 46, "fallocate": 47, "openat": 56, "write": 64, "writev": 66,
        "pwrite64": 68, "pwritev": 70, "sendfile": 71, "splice": 76, "fsync": 82, "fdatasync": 83,
        "syncfs": 267, "renameat2": 276, "copy_file_range": 285, "pwritev2": 287, "io_uring_setup": 425,
        "openat2": 437,
    },
}[platform.machine()]  # fmt: skip
"""The numbers of the system calls that change files, on this kind of processor."""

_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _ERROR, _TRACE = 0x7FFF0000, 0x00050000, 0x7FF00000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06


def refuse(calls: list[str], error: int) -> None:
    """Make system calls fail with an error, for this thread and all that it starts from now on."""
    _install({NUMBERS[name]: _ERROR | error for name in calls if name in NUMBERS})


def announce_changes() -> None:
    """Stop at every system call that changes files, for a tracer to look at."""
    _install(dict.fromkeys(NUMBERS.values(), _TRACE))


def _install(actions: Mapping[int, int]) -> None:
    program = [(_LOAD, 0, 0, 0)]  # the number of the call is the first field
    for number, action in actions.items():
        program += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, action)]
    program.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    header = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
