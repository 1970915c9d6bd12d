"""Records what a program does to the files below a folder, call by call, in the order in which it is done.

The kernel stops the program at every system call that changes files (seccomp) and lets this process look
(ptrace). Nothing is missed: Lance's Rust makes some calls without the C library, so a preloaded library would
not see them. Neither a compiler nor `strace` is needed. Run as a program: FOLDER OUTPUT COMMAND...
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.seccomp import NUMBERS, announce_changes

MARK = "/omnigraph-mark/"
"""Opening a file here, where there is none, leaves a mark in the recording."""

_NAMES = {number: name for name, number in NUMBERS.items()}
_TRACE_ME, _CONTINUE, _TO_NEXT, _SET_OPTIONS, _CALL_INFO = 0, 7, 24, 0x4200, 0x420E
_OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000  # stops told apart, children, exec, seccomp, exit
_SECCOMP = 7
_ALL_CHILDREN = 0x40000000
_HERE = -100
_INFO = struct.Struct("=B3xIQQ")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


@dataclass(frozen=True, slots=True)
class Step:
    """One change: a word, a path, and a second path, an offset or a size."""

    what: str
    path: str
    other: str = ""
    number: int = 0
    data: bytes = b""


def mark(text: str) -> None:
    """Leave a mark in the recording of this program."""
    try:
        os.close(os.open(MARK + text, os.O_RDONLY))
    except FileNotFoundError:
        return


def record(folder: Path, command: list[str], output: Path, environment: dict[str, str]) -> list[Step]:
    """Run a command and return what it did below a folder."""
    subprocess.run(
        [sys.executable, __file__, str(folder), str(output), *command],
        check=True, env=environment, timeout=540,
    )  # fmt: skip
    steps: list[Step] = pickle.loads(output.read_bytes())
    return steps


class _Tracer:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._begun: dict[int, tuple[str, list[int]]] = {}
        self._known: set[int] = set()
        self.steps: list[Step] = []

    def run(self, command: list[str]) -> int:
        """Trace a command to its end and return its exit code."""
        main = os.fork()
        if main == 0:
            _libc.ptrace(_TRACE_ME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            announce_changes()
            os.execv(command[0], command)
        os.waitpid(main, 0)
        self._known.add(main)
        _ptrace(_SET_OPTIONS, main, _OPTIONS)
        _ptrace(_CONTINUE, main, 0)
        code = 0
        while True:
            try:
                task, status = os.waitpid(-1, _ALL_CHILDREN)
            except ChildProcessError:
                return code
            if not os.WIFSTOPPED(status):
                if task == main:
                    code = os.waitstatus_to_exitcode(status)
                continue
            self._stopped(task, status)

    def _stopped(self, task: int, status: int) -> None:
        number, event = os.WSTOPSIG(status), status >> 16
        if event == _SECCOMP:
            self._begun[task] = self._call(task)
            _ptrace(_TO_NEXT, task, 0)
            return
        if number == signal.SIGTRAP | 0x80:
            name, given = self._begun.pop(task)
            self._ended(task, name, given)
            number = 0
        elif event or (number == signal.SIGSTOP and task not in self._known):
            number = 0
        self._known.add(task)
        _ptrace(_CONTINUE, task, number)

    def _call(self, task: int) -> tuple[str, list[int]]:
        _, fields = _info(task)
        number, *given = struct.unpack_from("=7Q", fields)
        name = _NAMES[number]
        if name in ("open", "openat"):
            path = _text(task, given[0] if name == "open" else given[1])
            if path.startswith(MARK):
                self.steps.append(Step("mark", path.removeprefix(MARK)))
        return name, [item - (1 << 64) if item >> 63 else item for item in given]

    def _ended(self, task: int, name: str, given: list[int]) -> None:
        _, fields = _info(task)
        result, failed = struct.unpack_from("=qB", fields)
        if failed:
            return
        for step in self._steps(task, name, given, result):
            if any(_is_below(path, self._folder) for path in (step.path, step.other)):
                self.steps.append(step)

    def _steps(self, task: int, name: str, given: list[int], result: int) -> list[Step]:
        if name in ("open", "creat", "openat"):
            at, path, flags = (_HERE, given[0], given[1]) if name != "openat" else (given[0], *given[1:3])
            if name == "creat":
                flags = os.O_CREAT | os.O_TRUNC
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                return [Step("unknown", _path(task, at, path), "O_TMPFILE")]
            found = _path(task, at, path)
            made = [Step("make", found)] if flags & os.O_CREAT else []
            return made + ([Step("resize", found)] if flags & os.O_TRUNC else [])
        if name in ("write", "writev"):
            path = _opened(task, given[0])
            if not _is_below(path, self._folder):
                return []
            data = _bytes(task, given[1], result) if name == "write" else _vector(task, given[1], given[2])
            return [Step("write", path, number=_position(task, given[0]) - result, data=data[:result])]
        if name == "pwrite64":
            path = _opened(task, given[0])
            return [Step("write", path, number=given[3], data=_bytes(task, given[1], result))]
        if name in ("fsync", "fdatasync"):
            return [Step("flush", _opened(task, given[0]))]
        if name == "ftruncate":
            return [Step("resize", _opened(task, given[0]), number=given[1])]
        if name == "fallocate" and given[1] == 0:
            return [Step("extend", _opened(task, given[0]), number=given[2] + given[3])]
        if name in ("rename", "link"):
            return [Step(name, _path(task, _HERE, given[0]), _path(task, _HERE, given[1]))]
        if name in ("renameat", "linkat") or (name == "renameat2" and given[4] == 0):
            word = "link" if name == "linkat" else "rename"
            return [Step(word, _path(task, given[0], given[1]), _path(task, given[2], given[3]))]
        if name in ("symlink", "symlinkat"):
            at, path = (_HERE, given[1]) if name == "symlink" else (given[1], given[2])
            return [Step("symlink", _path(task, at, path), data=_text(task, given[0]).encode())]
        if name in ("mkdir", "rmdir", "unlink"):
            return [Step(name, _path(task, _HERE, given[0]))]
        if name == "mkdirat":
            return [Step("mkdir", _path(task, given[0], given[1]))]
        if name == "unlinkat":
            return [Step("rmdir" if given[2] & 0x200 else "unlink", _path(task, given[0], given[1]))]
        if name in ("flock",):
            return []
        if name in ("truncate", "openat2", "renameat2", "io_uring_setup"):
            return [Step("unknown", self._folder, name)]
        out = {"sendfile": 0, "splice": 2, "copy_file_range": 2}.get(name, 0)
        return [Step("unknown", _opened(task, given[out]), name)]


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _ptrace(request: int, task: int, data: int) -> None:
    if _libc.ptrace(request, task, None, data) < 0 and ctypes.get_errno() != 3:  # it may have been killed
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")


def _info(task: int) -> tuple[int, bytes]:
    place = ctypes.create_string_buffer(128)
    if _libc.ptrace(_CALL_INFO, task, len(place), ctypes.addressof(place)) < 0:
        raise OSError(ctypes.get_errno(), "PTRACE_GET_SYSCALL_INFO")
    return _INFO.unpack_from(place)[0], place.raw[_INFO.size :]


def _bytes(task: int, address: int, size: int) -> bytes:
    with open(f"/proc/{task}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def _vector(task: int, address: int, count: int) -> bytes:
    places = struct.iter_unpack("=QQ", _bytes(task, address, 16 * count))
    return b"".join(_bytes(task, start, size) for start, size in places)


def _text(task: int, address: int) -> str:
    found = b""
    while b"\0" not in found:
        # Not beyond a page, of which the next may not exist.
        start = address + len(found)
        found += _bytes(task, start, 4096 - start % 4096)
    return os.fsdecode(found.partition(b"\0")[0])


def _path(task: int, at: int, address: int) -> str:
    text = _text(task, address)
    if text.startswith("/"):
        return os.path.normpath(text)
    above = os.readlink(f"/proc/{task}/cwd") if (at & 0xFFFFFFFF) == 0xFFFFFF9C else _opened(task, at)
    return os.path.normpath(f"{above}/{text}")


def _opened(task: int, descriptor: int) -> str:
    return os.readlink(f"/proc/{task}/fd/{descriptor}")


def _position(task: int, descriptor: int) -> int:
    with open(f"/proc/{task}/fdinfo/{descriptor}") as file:
        return int(file.readline().split()[1])


def main() -> None:
    """Record a command."""
    folder, output, *command = sys.argv[1:]
    tracer = _Tracer(folder)
    code = tracer.run(command)
    Path(output).write_bytes(pickle.dumps(tracer.steps))
    sys.exit(code)


if __name__ == "__main__":
    sys.modules["support.recorder"] = sys.modules["__main__"]
    Step.__module__ = "support.recorder"
    main()
