"""Batches of points: as long as their time says, all points once, the first alone."""

from mfpde.sweeping.batches import Batches
from mfpde.workers import Task


def batches(points, workers=2, **options):
    made = Batches("m:f", ("problem",), (None,), [range(points)], workers)
    for name, value in options.items():
        setattr(made, name, value)
    return made


def test_every_point_once_and_the_first_alone():
    made = batches(1000)
    for task in made:
        assert task.arguments == ("problem", made.sent[-1].start, made.sent[-1].stop, None)
        made.learn(0.005 * len(made.sent[-1]), len(made.sent[-1]))
    sizes = list(map(len, made.sent))
    assert [point for batch in made.sent for point in batch] == list(range(1000))
    assert sizes[0] == 1
    assert max(sizes) == 50  # a quarter of a second
    assert sizes[-1] == 1  # all end together


def test_a_slow_point_is_a_batch_of_its_own():
    made = batches(20)
    for _ in made:
        made.learn(3.0, 1)
    assert set(map(len, made.sent)) == {1}


def test_others_get_ready_while_the_first_point_is_solved():
    made = batches(10, workers=3, ready=Task("m:ready", ()))
    tasks = iter(made)
    assert [next(tasks).function for _ in range(3)] == ["m:f", "m:ready", "m:ready"]
    assert not made.under_way
    made.learn(1.0, 1)
    assert next(tasks).function == "m:f"
    assert list(map(len, made.sent)) == [1, 0, 0, 1]
