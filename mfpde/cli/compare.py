"""`mfpde compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mfpde.cli.exit_codes import CHECK_FAILED
from mfpde.cli.options import as_json, print_json

if TYPE_CHECKING:
    from mfpde.comparing.runs import RunDistances

__all__ = ["compare"]


@click.command(short_help="Tell how far two runs are apart over time.")
@click.argument("first", metavar="A.h5")
@click.argument("second", metavar="B.h5")
@click.option(
    "--kind", metavar="KIND", help="A distance that `mfpde list distance` names; W_2, sliced off line and circle."
)
@click.option("--tolerance", type=click.FloatRange(min=0), help="Exit code 1 where the largest distance is beyond it.")
@as_json
def compare(first: str, second: str, kind: str | None, tolerance: float | None, as_json: bool) -> int:
    """Tell how far the measures of two runs are apart at the times that both have saved. Nothing is interpolated: other
    times are left out, and it is said how many there are."""
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.comparing.runs import compare_runs
    from mfpde.store.reader import load_run

    with told_of_compiling():
        found = compare_runs(load_run(first), load_run(second), kind)
    worst, when = found.worst
    passed = tolerance is None or worst <= tolerance
    if as_json:
        print_json(
            {
                "kind": found.kind,
                "times": found.times,
                "distances": found.distances,
                "largest": {"distance": worst, "time": when},
                "snapshots": found.counts,
                "tolerance": tolerance,
                "passed": passed,
            }
        )
    else:
        click.echo(_table(found))
    if not passed:
        click.echo(
            f"check failed: {found.kind} distance {worst:.3g} at t = {when:.6g}; {tolerance:g} allowed", err=True
        )
    return 0 if passed else CHECK_FAILED


def _table(found: RunDistances) -> str:
    from mfpde.cli.tables import columns

    rows = [[f"{time:.6g}", f"{value:.6g}"] for time, value in zip(found.times, found.distances, strict=True)]
    worst, when = found.worst
    told = [columns(rows, header=["time", f"{found.kind} distance"]), f"largest: {worst:.6g} at t = {when:.6g}"]
    if {*found.counts} != {len(found.times)}:
        told.append(f"common times: {len(found.times)} of {found.counts[0]} and {found.counts[1]} snapshots")
    return "\n".join(told)
