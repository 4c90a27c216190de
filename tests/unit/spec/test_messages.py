"""What a user reads when a problem file is wrong: where, what was given, what is wanted, what is near."""

import pytest

from mfpde.registry import members

HEAD = "geometry: {kind: circle}\n"
KERNELS = ", ".join(members("attention"))

ONE_FAULT = {
    # unknown keys and kinds
    "noise: {kapa: 4}": (
        "p.yaml:2:9: noise.kapa: unknown key 'kapa' (did you mean 'kappa'?); known: kappa, matrix, common"
    ),
    "attention: {kind: softmax, bta: 3, beta: 1}": (
        "p.yaml:2:28: attention.bta: unknown key 'bta' (did you mean 'beta'?); known: weight, beta, A, Q, K, V, kind"
    ),
    "attention: {kind: sofmax, beta: 3}": (
        "p.yaml:2:19: attention.kind: no attention is called 'sofmax' (did you mean 'softmax'?); "
        f"known: {KERNELS}"
    ),
    "attention: {kind: 3}": (
        f"p.yaml:2:19: attention.kind: no attention is called 3; known: {KERNELS}"
    ),
    "attention: {beta: 3}": f"p.yaml:2:1: attention: has no kind; known kinds: {KERNELS}",
    "attention: softmax": "p.yaml:2:12: attention: must be a block of keys, not 'softmax'; write {kind: softmax}",
    "attention: sofmax": "p.yaml:2:12: attention: must be a block of keys, not 'sofmax'; write {kind: softmax}",
    "noise: 4": "p.yaml:2:8: noise: must be a block of keys, not 4",
    "noise:": "p.yaml:2:1: noise: must be a block of keys, not nothing",
    # types
    "noise: {kappa: four}": "p.yaml:2:16: noise.kappa: must be a number, not 'four'",
    "noise: {kappa: true}": "p.yaml:2:16: noise.kappa: must be a number, not true",
    "noise: {kappa: .nan}": "p.yaml:2:16: noise.kappa: must be a number, not nan",
    "noise: {kappa: [1, 2]}": "p.yaml:2:16: noise.kappa: must be a number, not [1, 2]",
    "title: 3": "p.yaml:2:8: title: must be text, not 3 (quotes make text of it)",
    "solver: {kind: spectral, max_modes: many}": (
        "p.yaml:2:37: solver.max_modes: must be a whole number, not 'many'"
    ),
    "solver: {kind: spectral, max_modes: 64.5}": "p.yaml:2:37: solver.max_modes: must be a whole number, not 64.5",
    "observe: mass": "p.yaml:2:10: observe: must be a list, not 'mass'; write [mass]",
    "observe: [mas]": None,
    "time: {until: 3, stop_when_steady: maybe}": (
        "p.yaml:2:36: time.stop_when_steady: must be true or false or a number, not 'maybe'"
    ),
    # YAML 1.1 as people remember it
    "time: {until: 3, save: no}": (
        "p.yaml:2:24: time.save: must be true or false, not 'no'; in YAML 1.2 that is false"
    ),
    "noise: {kappa: 1_000}": (
        "p.yaml:2:16: noise.kappa: must be a number, not '1_000'; without separators and quotes: 1000"
    ),
    "noise: {kappa: '4'}": (
        "p.yaml:2:16: noise.kappa: must be a number, not '4'; without separators and quotes: 4"
    ),
    'noise: {kappa: "0,5"}': "p.yaml:2:16: noise.kappa: must be a number, not '0,5'; the decimal sign is a point: 0.5",
    # bounds and lengths
    "noise: {kappa: -1}": "p.yaml:2:16: noise.kappa: must be greater than 0, not -1",
    "time: {until: .inf}": "p.yaml:2:15: time.until: must be less than inf, not inf",
    "solver: {kind: spectral, max_modes: 3}": "p.yaml:2:37: solver.max_modes: must be at least 16, not 3",
    "solver: {kind: spectral, tolerance: 1}": "p.yaml:2:37: solver.tolerance: must be at most 0.01, not 1",
    "interaction: {coefficients: []}": (
        "p.yaml:2:29: interaction.coefficients: must have at least 1 entry, not 0"
    ),
    # inside lists and matrices
    "attention: {kind: softmax, A: [[1, 2], [3, q]]}": (
        "p.yaml:2:44: attention.A.1.1: must be a number, not 'q'"
    ),
    "attention: {kind: softmax, A: [[1, 2], [3]]}": (
        "p.yaml:2:31: attention.A: has rows of different lengths [2, 1]"
    ),
    "attention: {kind: softmax, A: []}": (
        "p.yaml:2:31: attention.A: must be a matrix with at least one entry, not []"
    ),
    "attention: {kind: softmax, A: 1, V: [[]]}": (
        "p.yaml:2:37: attention.V: must be a matrix with at least one entry, not [[]]"
    ),
    "attention: {kind: softmax, A: [[1, 2], 3]}": "p.yaml:2:40: attention.A.1: must be a list, not 3",
    "initial: {kind: von-mises, concentration: 1, direction: x}": (
        "p.yaml:2:57: initial.direction: must be a number or a list, not 'x'"
    ),
    # sentences of the nouns
    "attention: {kind: softmax}": (
        "p.yaml:2:1: attention: needs exactly one of beta, A, or Q and K; given: none"
    ),
    "time: {until: 4, save_every: 1, save_at: [1]}": (
        "p.yaml:2:30: time.save_every: save_every and save_at cannot both be given"
    ),
    "initial: {kind: uniform, weight: 2}": (
        "p.yaml:2:34: initial.weight: is the share of a component of a mixture; it means nothing on its own"
    ),
    "initial: {kind: density, expression: 1 + cos(thta)}": None,
    "initial: {kind: density, expression: 2 * (1 + cos(theta)}": (
        "p.yaml:2:38: initial.expression: '2 * (1 + cos(theta)' cannot be read as arithmetic: a bracket is not closed; "
        "inside { }, a text with commas needs quotes"
    ),
    "? \n: 3": "p.yaml:2:2: a key must be a word, not nothing",
    "time: {save: false}": "p.yaml:2:1: time.until: is missing",
    "initial: {kind: mixture, components: [{kind: von-mises}]}": (
        "p.yaml:2:39: initial.components.0.concentration: is missing"
    ),
}  # fmt: skip


@pytest.mark.parametrize("line", ONE_FAULT)
def test_one_fault_is_told_once_and_exactly(line, complaints):
    said = complaints(f"{HEAD}{line}\n")
    assert len(said) == 1
    if ONE_FAULT[line] is not None:
        assert said[0] == ONE_FAULT[line]


def test_an_unknown_observable_and_an_unknown_coordinate_come_with_what_is_near(complaints):
    assert complaints(f"{HEAD}observe: [mas]\n")[0].startswith(
        "p.yaml:2:11: observe.0: no observable is called 'mas' (did you mean 'mass'?); known: "
    )
    assert complaints(f"{HEAD}initial: {{kind: density, expression: 1 + cos(thta)}}\n")[0].startswith(
        "p.yaml:2:38: initial.expression: does not know 'thta' (did you mean 'theta'?); known: "
    )


def test_all_faults_are_told_at_once_in_the_order_of_the_file(complaints):
    said = complaints(
        "geometry: {kind: circel}\n"
        "noise:\n"
        "  kappa: -1\n"
        "  kappa: 3\n"
        "attention: {kind: softmax, beta: x}\n"
        "tim: {}\n"
        "observe: [mass, {kind: mas}]\n"
    )
    assert [line.split(" ")[0] for line in said] == [
        "p.yaml:1:18:", "p.yaml:3:10:", "p.yaml:4:3:", "p.yaml:5:34:", "p.yaml:6:1:", "p.yaml:7:24:",
    ]  # fmt: skip
    assert said[2] == "p.yaml:4:3: noise.kappa: the key 'kappa' is there twice (first in line 3)"


def test_the_kind_is_no_part_of_the_path(complaints):
    said = complaints(
        f"{HEAD}initial: {{kind: mixture, components: [{{kind: mixture, components: [{{kind: density}}]}}]}}"
    )
    assert said == ["p.yaml:2:68: initial.components.0.components.0.expression: is missing"]


def test_numbers_that_yaml_1_2_has_are_numbers(tmp_path):
    from mfpde.spec import read_yaml

    path = tmp_path / "p.yaml"
    for text, value in {
        "1e-3": 1e-3,
        ".inf": float("inf"),
        "inf": float("inf"),
        "+3": 3,
        "0x10": 16,
        "1E2": 100,
    }.items():
        path.write_text(f"{HEAD}noise: {{kappa: {text}}}")
        assert read_yaml(path).noise.kappa == value


@pytest.mark.parametrize(
    "line",
    [
        f"initial: {{kind: density, expression: {'1+' * 900}x'}}",
        f"initial: {{kind: density, expression: {'(' * 900000}}}",
        f"attention: {{kind: {'x' * 900000}}}",
        f"attention: {{kind: softmax, A: {'x' * 900000}}}",
        f"attention: {{kind: softmax, beta: 1, {'x' * 900000}: 1}}",
        f"{'x' * 900000}: 1",
        f"attention: {{kind: softmax, A: [{', '.join(str([1] * n) for n in range(1, 120))}]}}",
        f"initial: {{kind: mixture, components: [{', '.join(['{kind: uniform, weight: -1}'] * 2000)}]}}",
    ],
    ids=lambda line: line[:40],
)
def test_what_is_long_is_not_repeated_whole(line, complaints):
    said = complaints(f"{HEAD}{line}\n")
    assert max(map(len, said)) < 1500
