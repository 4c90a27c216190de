"""What solvers keep for a resumed run: all that it needs, and nothing that it does not."""

from functools import cache

import numpy as np
import pytest
from store.interrupted import Whole, forgetting, kept_of
from store.ways import ELSEWHERE, TELLING, WAYS

from mfpde.errors import ResumeError
from mfpde.registry import members

CUTS = 2
EVERY_WAY = pytest.mark.parametrize(
    ("solver", "name"),
    [pytest.param(solver, name, id=f"{solver}, {name}") for solver, ways in WAYS.items() for name in ways],
)


@cache
def whole(solver, name):
    return Whole(WAYS[solver][name])


def test_every_solver_is_interrupted():
    assert set(WAYS) == set(members("solver")) - {"auto"}


@EVERY_WAY
def test_a_run_goes_on_bit_for_bit(solver, name):
    run = whole(solver, name)
    broken = [moment.then.time for moment in run.telling(1) if not run.goes_on(moment, moment.kept)]
    assert not broken


@pytest.mark.long
@EVERY_WAY
def test_a_run_goes_on_bit_for_bit_wherever_it_is_cut(solver, name):
    run = whole(solver, name)
    broken = [moment.then.time for moment in run.moments if not run.goes_on(moment, moment.kept)]
    assert not broken


@pytest.mark.slow
@pytest.mark.parametrize("solver", WAYS)
def test_nothing_is_kept_that_no_run_needs(solver):
    needed, kept = set(), set()
    for name in WAYS[solver]:
        run = whole(solver, name)
        for moment in run.telling(CUTS):
            for entry, without in forgetting(moment.kept, run.fresh):
                kept.add(entry)
                asked = entry not in needed and TELLING.get(solver, {}).get(entry, name) == name
                if (
                    asked
                    and entry not in ELSEWHERE.get(solver, {})
                    and without is not None
                    and not run.goes_on(moment, without)
                ):
                    needed.add(entry)
    assert kept - needed == set(ELSEWHERE.get(solver, {}))


def test_steps_that_stability_has_let_alone_are_counted_on():
    """After six in a row those that it has limited are forgotten; the fifteenth of these would switch schemes."""
    run, seen = whole("gaussian", "stiff"), set()
    limited = [moment.kept["march_switches"][2] > 0 for moment in run.moments]
    moment = run.moments[limited.index(True) - 2]  # one step that it lets alone, then the first that it limits
    for free in (0, 5):
        switches = moment.kept["march_switches"].copy()
        switches[2:] = 14, free
        seen.add(tuple(run.continued(moment, {**moment.kept, "march_switches": switches})))
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("solver", "name", "entry"),
    [
        ("spectral", "cut", "choices"),
        ("spectral", "cut", "cut"),
        ("spectral", "law, positions", "masses"),
        ("spectral", "law, positions", "positions"),
        ("spectral", "law, tables", "modes_kept"),
        ("finite-volume", "box too short", "first_cells"),
        ("finite-volume", "edges under noise", "missed"),
        ("particles", "noise", "length"),
        ("particles", "masked", "positions"),
        ("particles", "norms that stay", "tokens"),
        ("particles", "pairs", "weights"),
    ],
)
def test_what_the_start_decides_is_kept(solver, name, entry):
    """It is the same at all times; a resumed run does not look for it again."""
    run = whole(solver, name)
    zeros = np.zeros_like(run.moments[0].kept[entry])
    assert not all(run.goes_on(moment, {**moment.kept, entry: zeros}) for moment in run.telling(CUTS))


@pytest.mark.parametrize("solver", WAYS)
def test_a_checkpoint_that_lacks_an_array(solver):
    """An earlier version of mfpde may have kept others."""
    prepared = next(iter(WAYS[solver].values())).prepared(1.0)
    kept, told = kept_of(prepared.start()), []
    for name in kept:
        try:
            prepared.resume({other: values for other, values in kept.items() if other != name})
        except ResumeError as error:
            told.append(str(error))
    sentence = (
        "its checkpoint was written by an earlier version of mfpde, which this one cannot continue; start again, or "
        "from its last snapshot with initial: {kind: snapshot}"
    )
    assert set(told) == {sentence}


def test_entries_of_earlier_versions_are_ignored():
    """Each of these files held more than is needed."""
    for solver, more in {
        "finite-volume": {"cells": np.zeros(1, dtype=np.int64), "mass": np.zeros(1)},
        "characteristics": {"march_start": np.zeros(3), "march_slope": np.zeros(0)},
    }.items():
        run = whole(solver, next(iter(WAYS[solver])))
        moment = run.moments[len(run.moments) // 2]
        kept = kept_of(moment.then)
        assert not set(more) & set(kept)
        assert run.goes_on(moment, {**kept, **more})
