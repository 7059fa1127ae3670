"""Make the kernel refuse system calls to a child process: a full disk, or one without hard links, for any user.

The filter is a seccomp program; it cannot be taken off again, hence the child.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import platform
import struct
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

# Numbers of the calls by which a C library may ask for each, per architecture.
_CALLS: dict[str, dict[str, tuple[int, ...]]] = {
    "x86_64": {"link": (86, 265), "rename": (82, 264), "renameat2": (316,), "fsync": (74,)},
    "aarch64": {"link": (37,), "rename": (38,), "renameat2": (276,), "fsync": (82,)},
}
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def call(function: Callable[..., object], *arguments: Any, calls: Mapping[str, int]) -> str:
    """Call a function in a child whose system `calls` fail with the given errno; `ErrorType: message`, or nothing."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_child, args=(there, function, arguments, dict(calls)))
    process.start()
    there.close()
    said = here.recv()
    process.join()
    assert isinstance(said, str)
    return said


def _child(
    pipe: Connection, function: Callable[..., object], arguments: tuple[Any, ...], calls: dict[str, int]
) -> None:
    _deny(calls)
    try:
        function(*arguments)
    except Exception as err:  # noqa: BLE001 - whatever it is, the test compares it
        pipe.send(f"{type(err).__name__}: {err}")
    else:
        pipe.send("")


def _deny(calls: Mapping[str, int]) -> None:
    """Install the filter: load the call's number, return the errno where it is one of `calls`, else allow."""
    known = _CALLS[platform.machine()]
    program = struct.pack("HBBI", _LOAD_WORD, 0, 0, 0)
    for name, code in calls.items():
        for number in known[name]:
            program += struct.pack("HBBI", _JUMP_IF_EQUAL, 0, 1, number)
            program += struct.pack("HBBI", _RETURN, 0, 0, _ERRNO | code)
    program += struct.pack("HBBI", _RETURN, 0, 0, _ALLOW)
    libc = ctypes.CDLL(None, use_errno=True)
    filters = _Program(len(program) // 8, program)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filters)):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")
