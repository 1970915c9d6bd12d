"""Runs a function in several fresh processes at the same moment."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.queues import Queue
from typing import Any

from support.fork_server import fork_server

_SPAWN = multiprocessing.get_context("spawn")
"""For a process that must be a child of this one."""
_SECONDS = 120


def run_together(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call the function once per tuple, each in its own process, all at once; return the results."""
    context = fork_server()
    barrier = context.Barrier(len(arguments))
    queue: Queue[tuple[int, Any, bool]] = context.Queue()
    processes = [
        context.Process(target=_work, args=(function, given, number, barrier, queue), daemon=True)
        for number, given in enumerate(arguments)
    ]
    for process in processes:
        process.start()
    results: list[Any] = [None] * len(arguments)
    for _ in processes:
        number, result, failed = queue.get(timeout=_SECONDS)
        if failed:
            raise result
        results[number] = result
    for process in processes:
        process.join(_SECONDS)
    return results


def run_in_threads(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call the function once per tuple, each in its own thread, all at once; return the results."""
    barrier = threading.Barrier(len(arguments))
    results: list[Any] = [None] * len(arguments)
    failures: list[BaseException] = []

    def work(number: int, given: tuple[Any, ...]) -> None:
        try:
            barrier.wait(_SECONDS)
            results[number] = function(*given)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=item) for item in enumerate(arguments)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SECONDS)
    if failures:
        raise failures[0]
    return results


def run_unprivileged(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function in a process that file permissions bind, even when the tests run as root."""
    return run_together(_without_privileges, [(function, *arguments)])[0]


@contextmanager
def stopped_process(function: Callable[..., Any], *arguments: Any) -> Iterator[Callable[[], Any]]:
    """Call a function that stops its own process; inside the block it stands still.

    What is given to the block lets the process go on and returns the function's result.
    """
    queue: Queue[tuple[int, Any, bool]] = _SPAWN.Queue()
    barrier = _SPAWN.Barrier(1)
    process = _SPAWN.Process(target=_work, args=(function, arguments, 0, barrier, queue), daemon=True)
    process.start()
    assert process.pid is not None
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), "the process ended without stopping"

    def go_on() -> Any:
        os.kill(process.pid, signal.SIGCONT)
        _, result, failed = queue.get(timeout=_SECONDS)
        if failed:
            raise result
        return result

    try:
        yield go_on
    finally:
        process.kill()
        process.join(_SECONDS)


def run_and_wait(function: Callable[..., Any], *arguments: Any) -> int:
    """Call the function in a process of its own and return the exit code, negative for a signal."""
    process = fork_server().Process(target=function, args=arguments, daemon=True)
    process.start()
    process.join(_SECONDS)
    assert process.exitcode is not None, "the process did not end"
    return process.exitcode


def _work(
    function: Callable[..., Any],
    given: tuple[Any, ...],
    number: int,
    barrier: Any,
    queue: Queue[tuple[int, Any, bool]],
) -> None:
    try:
        barrier.wait(_SECONDS)
        queue.put((number, function(*given), False))
    except BaseException as error:
        queue.put((number, error, True))


def _without_privileges(function: Callable[..., Any], *arguments: Any) -> Any:
    drop_capabilities()
    return function(*arguments)


def drop_capabilities() -> None:
    """Give up root's right to ignore file permissions, for the calling thread; always allowed."""
    if sys.platform != "linux":
        return
    version_3 = 0x20080522
    header = (ctypes.c_uint32 * 2)(version_3, 0)
    no_capabilities = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, no_capabilities) != 0:
        raise OSError(ctypes.get_errno(), "capset")
