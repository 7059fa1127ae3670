"""The command line: the only place that prints or exits. A command combines what the other modules do.

Commands import heavy modules where they use them, so that `repair --help` is quick.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from repair.cli import check, diff, engine, exchange, mint, new, probe, report, run, show
from repair.cli.options import app, print_json
from repair.errors import DiskFull, RepairError
from repair.text import printable

__all__ = ["app", "run_app"]
COMMANDS: dict[str, Callable[..., None]] = {
    "new": new.new,
    "import": exchange.import_panel,
    "mint": mint.mint,
    "probe": probe.probe,
    "run": run.run,
    "check": check.check,
    "gate": check.gate,
    "show": show.show,
    "report": report.report,
    "diff": diff.diff,
    "export": exchange.export_panel,
    "parse": show.parse,
    "clean": engine.clean,
    "doctor": engine.doctor,
    "schema": new.schema,
}
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


def run_app(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit status. Only here does an error become a message."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # the locale may lack our arrows
    try:
        status = _status(arguments)
        sys.stdout.flush()
        return status
    except RepairError as err:
        _complain(err, as_json="--json" in arguments)
        return err.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader closed the pipe: no error
        return 0
    except OSError as err:
        if err.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _complain(DiskFull("the output cannot be written: no space left", "free some, then run again"), as_json=False)
        return DiskFull.code
    except Exception:  # noqa: BLE001 - the one boundary: any other exception is a bug of repair
        traceback.print_exc()
        print("repair: this is a bug of repair's; please report it with the lines above", file=sys.stderr)
        return RepairError.code


def _status(arguments: Sequence[str]) -> int:
    try:
        app(args=arguments, prog_name="repair")
    except SystemExit as err:
        if isinstance(err.__context__, BrokenPipeError):  # typer turns it into a status
            raise err.__context__ from None
        return err.code if isinstance(err.code, int) else int(err.code is not None)
    return 0


def _complain(err: RepairError, *, as_json: bool) -> None:
    """Print an error. Its further lines are indented: a stranger's text cannot fake a message of repair."""
    print("\n    ".join(map(printable, f"repair: {err}".split("\n"))), file=sys.stderr)
    if as_json:
        error = {"kind": err.kind, "message": err.message, "next": err.next}
        print_json({"exit": err.code, "error": error})
