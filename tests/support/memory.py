"""The peak of a measured child's memory: the beginning of its script, which defines `peak()`, in KiB.

What getrusage tells is never below the peak of the process that started the child: `ru_maxrss` counts the memory that
exec replaces, too. VmHWM is of the child's own memory alone.
"""

from __future__ import annotations

PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
"""
