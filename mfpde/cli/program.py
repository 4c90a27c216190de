"""The command line as a whole: its commands, its exit codes, and what becomes of an error.

Command modules import click at the top and everything else when they run: `mfpde --help` is quick.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import click

from mfpde._version import __version__
from mfpde.cli.bifurcate import bifurcate
from mfpde.cli.check import check
from mfpde.cli.cite import cite
from mfpde.cli.compare import compare
from mfpde.cli.doctor import doctor
from mfpde.cli.examples import examples
from mfpde.cli.exit_codes import BAD_INPUT, INTERNAL_ERROR, INTERRUPTED, PIPE_CLOSED
from mfpde.cli.info import info
from mfpde.cli.listing import listing
from mfpde.cli.plot import plot
from mfpde.cli.report import report
from mfpde.cli.schema import schema
from mfpde.cli.solve import solve
from mfpde.cli.sweep import sweep
from mfpde.cli.validate import validate
from mfpde.errors import MfpdeError, ProblemError

__all__ = ["main"]

_DEBUG = "MFPDE_DEBUG"

_BEGINNING = """Mean-field PDEs of Transformers: solve, look at and verify problems written as YAML files.

\b
To begin:  mfpde examples noisy-kuramoto -o .
           mfpde solve noisy-kuramoto.yaml
           mfpde plot noisy-kuramoto.h5
"""
_EPILOG = (
    "Exit codes: 0 done; 1 a check failed; 2 bad input, nothing written; 3 the run ended early, the file says why; "
    "130 interrupted."
)


class PipeClosedError(Exception):
    """Nobody reads what is printed any more (`mfpde list | head -1`)."""


class Program(click.Group):
    """A group of commands whose errors are told in sentences and whose exit codes are mfpde's."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which one needs them."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click would leave with 1, which says that a check failed, when nobody reads the output."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise PipeClosedError from None
        return result

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and leave with its exit code."""

        def run() -> Any:
            return super(Program, self).main(args, prog_name or "mfpde", complete_var, standalone_mode=False, **extra)

        if not standalone_mode:
            return run()
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C, from the first moment on
        sys.exit(_exit_code(run))


def _exit_code(run: Callable[[], Any]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter shows its code
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            if os.environ.get(_DEBUG) != "1":  # what overflows is told by the outcome, not by numpy
                warnings.simplefilter("ignore", RuntimeWarning)
            code = run()
    except PipeClosedError:
        _drop_output()
        return PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except MfpdeError as error:
        _tell(error)
        return BAD_INPUT
    except Exception as error:  # noqa: BLE001  the last resort: whatever nobody thought of
        _confess(error)
        return INTERNAL_ERROR
    return code if isinstance(code, int) else 0


def _tell(error: MfpdeError) -> None:
    click.echo(str(error), err=True)
    if isinstance(error, ProblemError) and len(error.faults) > 1:
        click.echo(f"{len(error.faults)} errors", err=True)


def _confess(error: Exception) -> None:
    words = " ".join(str(error).split())[:300]
    click.echo(
        f"internal error: {type(error).__name__}: {words} (this is a mistake in mfpde {__version__}: please report it "
        "with the problem file and what MFPDE_DEBUG=1 prints)",
        err=True,
    )
    if os.environ.get(_DEBUG) == "1":
        click.echo("".join(traceback.format_exception(error)), err=True)


def _drop_output() -> None:
    """What is still to be flushed at exit goes nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stream without a descriptor has nothing to flush
        return


main = Program(
    "mfpde",
    help=_BEGINNING,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
    commands=[
        solve,
        check,
        validate,
        bifurcate,
        sweep,
        plot,
        report,
        compare,
        info,
        examples,
        schema,
        listing,
        cite,
        doctor,
    ],
)
main = click.version_option(__version__, prog_name="mfpde", message="%(prog)s %(version)s")(main)
