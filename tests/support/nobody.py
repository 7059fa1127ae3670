"""A command as a user who may read nothing that is closed, whoever runs the tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

NOBODY = 65534
# Root loads all that the command needs first: the interpreter's own files may be closed to everybody else.
_AS_NOBODY = """
import contextlib, io, json, os, sys
import repair.cli, repair.panel.new
command, warm = json.loads(sys.argv[1]), json.loads(sys.argv[2])
if os.geteuid() == 0:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        repair.cli.run_app(warm)
        repair.cli.run_app(["--unknown"])
    os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[3]))
sys.exit(repair.cli.run_app(command))
"""


def as_nobody(command: Sequence[str], warm: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """`repair` with these arguments; root runs it with the arguments `warm` before it changes the user."""
    arguments = [json.dumps(list(command)), json.dumps(list(warm)), str(NOBODY)]
    return subprocess.run([sys.executable, "-c", _AS_NOBODY, *arguments], capture_output=True, text=True, check=False)
