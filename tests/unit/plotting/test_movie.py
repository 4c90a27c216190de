"""Movies."""

import os
import stat
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import mfpde
from mfpde.errors import MfpdeError, OutputError
from mfpde.plotting.circle_animation import CircleScene
from mfpde.plotting.circle_run import CircleRun
from mfpde.plotting.movie import frame_snapshots, run_movie
from mfpde.plotting.style import look


def test_gif_has_a_frame_for_each_snapshot(make_run, tmp_path):
    path = tmp_path / "run.gif"
    assert make_run(times=(0.0, 1.0, 2.0)).animate(path) == path
    with Image.open(path) as movie:
        assert (movie.n_frames, movie.size) == (3, (960, 540))
        assert movie.convert("RGB").getpixel((479, 2)) == (255, 255, 255)
    first = path.read_bytes()
    make_run(times=(0.0, 1.0, 2.0)).animate(path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("box", [[[-1, 1]], [[-1, 1], [-1, 1]]])
def test_movies_of_characteristics_show_their_cells(box, tmp_path):
    run = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "line" if len(box) == 1 else "plane"},
                "attention": {"kind": "softmax", "A": 1, "V": -1},
                "initial": {"kind": "uniform", "box": box},
                "solver": {"kind": "characteristics", "cells": 8, "tolerance": 1e-4},
                "time": {"until": 0.1, "save": False},
            }
        )
    )
    with Image.open(run.animate(tmp_path / "run.gif")) as movie:
        assert movie.n_frames == 2


def test_frames_show_snapshots_and_a_mark_on_the_order_parameter(run):
    with look():
        scene = CircleScene(CircleRun(run), [0, 1, 3])
        frames = list(scene.frames())
    assert frames[0].shape == frames[-1].shape == (540, 960, 4)
    assert np.any(frames[0] != frames[-1])
    assert scene.clock.get_text() == "t = 2.0"
    assert scene.mark.get_xydata()[0] == pytest.approx([2.0, run["order-parameter"][-1]])
    theta, density = scene.curve.get_data()
    assert density == pytest.approx((1 + 0.9 * (1 - np.exp(-2)) * np.cos(theta)) / (2 * np.pi), abs=1e-14)
    assert scene.tip.get_xydata()[0] == pytest.approx([0.45 * (1 - np.exp(-2)), 0.0])


def test_one_snapshot_and_no_observables(make_run, tmp_path):
    run_movie(make_run(times=(0.0,)), tmp_path / "one.gif")
    with Image.open(tmp_path / "one.gif") as movie:
        assert movie.n_frames == 1


def test_frames_are_evenly_spread_in_time():
    assert frame_snapshots(np.array([0.0])) == [0]
    assert frame_snapshots(np.linspace(0, 1, 81)) == list(range(81))
    many = frame_snapshots(np.linspace(0, 1, 100_001))
    assert len(many) == 250
    assert (many[0], many[-1]) == (0, 100_000)
    assert max(np.diff(many)) - min(np.diff(many)) <= 1
    uneven = np.array([0.0, 0.25, 1.0])
    assert frame_snapshots(uneven) == [0, 1, 1, 2, 2]


def test_mp4_without_ffmpeg_points_to_gif(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MfpdeError, match=r"needs ffmpeg.*\.gif works without it") as raised:
        run.animate(tmp_path / "run.mp4")
    assert "\n" not in str(raised.value)


def fake_ffmpeg(folder, script, monkeypatch):
    """A program of that name; the real one need not be there."""
    program = folder / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_mp4_feeds_every_frame_to_ffmpeg(run, tmp_path, monkeypatch):
    (tmp_path / "programs").mkdir()
    fake_ffmpeg(tmp_path / "programs", 'for last; do :; done; cat > "$last"', monkeypatch)
    run.animate(tmp_path / "run.mp4")
    frames = len(frame_snapshots(run.times))
    assert (tmp_path / "run.mp4").stat().st_size == frames * 960 * 540 * 4


def test_ffmpegs_own_words_when_it_fails(run, tmp_path, monkeypatch):
    (tmp_path / "programs").mkdir()
    fake_ffmpeg(tmp_path / "programs", "echo first >&2; echo no encoder found >&2; exit 1", monkeypatch)
    with pytest.raises(OutputError, match="ffmpeg could not write the movie: no encoder found"):
        run.animate(tmp_path / "run.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["programs"]


@pytest.mark.parametrize("name", ["run.png", "run", "run.avi"])
def test_unknown_extension_is_answered_with_the_known_ones(run, tmp_path, name):
    with pytest.raises(MfpdeError, match=r"\.mp4 or \.gif"):
        run.animate(tmp_path / name)


def test_unwritable_path_is_one_line(run, tmp_path):
    with pytest.raises(OutputError, match=r"^cannot write .*run\.gif: there is no folder .*nowhere$"):
        run.animate(tmp_path / "nowhere" / "run.gif")


def test_single_frames_are_those_of_the_movie_and_no_more_than_wanted(make_run):
    run = make_run(times=np.linspace(0, 2, 9))
    frames = run.frames(5)
    assert [time for time, _ in frames] == [0.0, 0.5, 1.0, 1.5, 2.0]
    with Image.open(BytesIO(frames[3][1])) as picture, look():
        scene = CircleScene(CircleRun(run), [0, 2, 4, 6, 8])
        assert np.array_equal(np.array(picture), list(scene.frames())[3][:, :, :3])
    assert len(make_run(times=(0.0, 1.0)).frames(5)) == 2
