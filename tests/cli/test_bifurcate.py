"""`mfpde bifurcate`: what it writes, says and leaves with."""

import json

import pytest

PROBLEM = """\
title: five
geometry:  {kind: circle}
attention: {kind: unnormalized, beta: 5}
bifurcation:
  range: [0.15, 0.4]
  branches: [uniform, 1]
"""


@pytest.fixture
def file(here):
    (here / "five.yaml").write_text(PROBLEM)
    return here / "five.yaml"


def test_a_diagram(mfpde, file, here):
    done = mfpde("bifurcate", "five.yaml", "--plot", "five.png")
    assert done.exit_code == 0, done.output
    assert "fold at 0.184300682956" in done.stdout
    assert "first-order at 0.187975826581" in done.stdout
    assert "several stable states for kappa in [0.184300683, 0.2054599575]" in done.stdout
    assert (here / "five.png").read_bytes().startswith(b"\x89PNG")
    again = mfpde("bifurcate", "five.yaml")
    assert again.exit_code == 2
    assert "exists already" in again.output
    assert mfpde("bifurcate", "five.yaml", "--resume", "--quiet").exit_code == 0
    assert mfpde("plot", "five.h5", "-o", "again.pdf").exit_code == 0
    assert mfpde("report", "five.h5").exit_code == 0
    assert "several stable" in (here / "five.html").read_text(encoding="utf-8")
    assert (here / "again.pdf").read_bytes().startswith(b"%PDF")
    told = json.loads(mfpde("bifurcate", "five.yaml", "--resume", "--json").stdout)
    assert [branch["name"] for branch in told["branches"]] == ["uniform", "mode 1"]
    other = mfpde("bifurcate", "five.yaml", "--resume", "--set", "attention.beta=4")
    assert other.exit_code == 2
    assert "another problem" in other.output


def test_check(mfpde, file):
    done = mfpde("check", "five.yaml")
    assert done.exit_code == 0
    assert "its branches can be followed" in done.stdout


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("bifurcation.range=[0.01, 0.1]", "mode 1 does not leave the uniform state for kappa in [0.01, 0.1]"),
        ("bifurcation.branches=[9]", "mode 9 does not leave"),
        ("bifurcation.parameter=gamma", "gamma is not a number of the equation"),
        ("bifurcation.range=[1, 0]", "must be two finite numbers in ascending order"),
    ],
)
def test_bad_input(mfpde, file, here, setting, told):
    done = mfpde("bifurcate", "five.yaml", "--set", setting)
    assert done.exit_code == 2
    assert told in done.output
    assert not (here / "five.h5").exists()


def test_an_interrupt_keeps_the_branches(mfpde, file, monkeypatch):
    from mfpde.bifurcation.exploring import Explorer

    def interrupted(self):
        yield from ()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Explorer, "secondary", interrupted)
        done = mfpde("bifurcate", "five.yaml")
    assert done.exit_code == 130
    assert "interrupted: stopped when asked to: --resume" in done.stdout
    assert "there may be other branches" in done.stdout
    assert "mode 1" in done.stdout
    told = mfpde("info", "five.h5").stdout
    assert "interrupted" in told
    assert "mode 1" in told
    assert mfpde("plot", "five.h5", "-o", "partial.png").exit_code == 0
    assert "bertini" in mfpde("cite", "five.h5").stdout
    assert mfpde("bifurcate", "five.yaml", "--resume").exit_code == 0
    assert "finished" in mfpde("info", "five.h5").stdout


def test_proofs_are_refused(mfpde, file, here):
    """In one sentence, before anything is written."""
    for command in (["check", "five.yaml"], ["bifurcate", "five.yaml"]):
        done = mfpde(*command, "--set", "bifurcation.certify=true")
        assert done.exit_code == 2
        assert "bifurcation.certify" in done.output
        assert "there are no proofs yet" in done.output
    assert not (here / "five.h5").exists()
    done = mfpde("bifurcate", "five.yaml", "--certify")
    assert done.exit_code == 2
    assert "no proofs yet" in done.output


def test_where_nothing_can_be_written(mfpde, file, here):
    for output, told in (("nowhere/five.h5", "there is no folder"), ("five.yaml", "is the problem file itself")):
        done = mfpde("bifurcate", "five.yaml", "-o", output)
        assert done.exit_code == 2
        assert told in done.output
    done = mfpde("bifurcate", "five.yaml", "--resume")
    assert done.exit_code == 2
    assert "there is no" in done.output
