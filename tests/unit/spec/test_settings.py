"""`--set KEY=VALUE`."""

import numpy as np
import pytest

from mfpde.spec import read_yaml

TEXT = """\
geometry: {kind: circle}
initial:
  kind: mixture
  components:
    - {kind: von-mises, concentration: 1}
    - {kind: uniform}
time: {until: 4}
"""


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(TEXT)
    return lambda **settings: read_yaml(path, {key.replace("__", "."): value for key, value in settings.items()})


def test_values_are_yaml(problem):
    assert problem(noise__kappa="2").noise.kappa == 2
    assert problem(noise="{kappa: 1e-3}").noise.kappa == 1e-3
    assert [item.kind for item in problem(observe="[mass, entropy]").observe] == ["mass", "entropy"]
    assert problem(title="a b").title == "a b"
    assert problem(time__save="false").time.save is False


def test_lists_are_counted_from_zero(problem):
    assert problem(initial__components__0__weight="2").initial.components[0].weight == 2


def test_python_gives_values_as_they_are(problem):
    assert problem(noise__kappa=2).noise.kappa == 2
    assert problem(noise={"kappa": np.float64(0.5)}, time__save=False).noise.kappa == 0.5
    assert problem(time__save_at=np.array([1.0, 2.0])).time.save_at == (1.0, 2.0)


def test_a_long_value_is_named_by_its_beginning(complaints):
    (said,) = complaints(TEXT, noise__kappa="x" * 900_000)
    assert len(said) < 400
    assert said.startswith("--set noise.kappa=xxx")


def test_later_settings_see_earlier_ones(problem):
    assert problem(noise="{kappa: 3}", noise__kappa="4").noise.kappa == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise__kappa": "four"}, "--set noise.kappa=four: noise.kappa: must be a number, not 'four'"),
        ({"nose__kappa": "2"}, "--set nose.kappa=2: nose: unknown key 'nose' (did you mean 'noise'?); known: "),
        (
            {"noise__kapa": "2"},
            "--set noise.kapa=2: noise.kapa: unknown key 'kapa' (did you mean 'kappa'?); known: kappa",
        ),
        ({"time__until__x": "2"}, "--set time.until.x=2: time.until.x: 4 is a single value and has no key 'x'"),
        (
            {"initial__components__7__weight": "2"},
            "--set initial.components.7.weight=2: initial.components.7.weight: '7' is not a position in this list of 2",
        ),
        (
            {"initial__components__first": "2"},
            "--set initial.components.first=2: initial.components.first: 'first' is not a position",
        ),
        (
            {"time__until": "[1, 2"},
            (
                "--set time.until=[1, 2: time.until: a comma or a closing bracket is missing before this "
                "(character 6 of the value)"
            ),
        ),
        (
            {"noise": "{kappa: 1,\n kappa: 2}"},
            (
                "--set noise={kappa: 1, kappa: 2}: noise.kappa: the key 'kappa' is there twice (first in line 1) "
                "(character 2 of the value, line 2)"
            ),
        ),
        (
            {"noise": "{kappa:2}"},
            (
                "--set noise={kappa:2}: noise.kappa:2: 'kappa:2' is one word to YAML; a colon is followed by a space: "
                "kappa: 2"
            ),
        ),
        (
            {"attention": "{kind:softmax,beta:1}"},
            "--set attention={kind:softmax,beta:1}: attention: 'kind:softmax' is one word to YAML; a colon is",
        ),
        ({"time__until": ""}, "--set time.until=: time.until: must be a number, not nothing"),
        ({"time____until": "3"}, "--set time..until=3: time..until: a setting is written key.key=value"),
        ({"base": "x.yaml"}, "--set base=x.yaml: base: "),
    ],
)
def test_faults_name_the_setting(settings, message, complaints):
    said = complaints(TEXT, **settings)
    assert len(said) == 1
    assert said[0].startswith(message)
