"""A run as a movie, and as single frames."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import IO, cast

import numpy as np

from mfpde.errors import MfpdeError, OutputError
from mfpde.plotting.output import extension_of
from mfpde.plotting.run_plot import portrait_of
from mfpde.plotting.scales import TimeScale
from mfpde.plotting.style import ALARM, CATEGORIES, MAP, look
from mfpde.registry import register
from mfpde.run import Run
from mfpde.store.atomic_file import replacing
from mfpde.typing import AnyArray, Float

__all__ = ["frame_snapshots", "run_frames", "run_movie"]

_MOVIES = (".mp4", ".gif")
_MAX_FRAMES = 250  # ten seconds at 25 a second
#: unless frames would follow too slowly or too fast
_MOVIE_SECONDS = 10.0
_MIN_FRAME_RATE, _MAX_FRAME_RATE = 4, 25  # a second


@register("view", "movie")
def run_movie(run: Run, path: str | Path) -> Path:
    """The snapshots moving in time: .mp4 where ffmpeg is there, .gif everywhere."""
    extension = extension_of(path, _MOVIES, "movie", " (figures are .png, .pdf or .svg)")
    encoder = shutil.which("ffmpeg")
    if extension == ".mp4" and encoder is None:
        raise MfpdeError(f"{path}: .mp4 needs ffmpeg, which is not on the PATH; .gif works without it")
    shown = portrait_of(run)
    snapshots = frame_snapshots(shown.times)
    # GIF counts time in hundredths of a second
    pause = round(100 / min(max(len(snapshots) / _MOVIE_SECONDS, _MIN_FRAME_RATE), _MAX_FRAME_RATE)) / 100
    with replacing(path) as temporary, look():
        frames = shown.scene(snapshots).frames()
        if extension == ".mp4" and encoder is not None:
            _write_mp4(frames, temporary, pause, encoder)
        else:
            _write_gif(frames, temporary, pause)
    return Path(path)


@register("view", "frames")
def run_frames(run: Run, most: int) -> list[tuple[float, bytes]]:
    """Times and PNG files of at most so many snapshots, spread over the time axis."""
    shown = portrait_of(run)
    snapshots = shown.spread(most)
    with look():
        files = [_png(frame) for frame in shown.scene(snapshots).frames()]
    return [(float(shown.times[snapshot]), file) for snapshot, file in zip(snapshots, files, strict=True)]


def _png(frame: AnyArray) -> bytes:
    from PIL import Image

    stream = BytesIO()
    Image.fromarray(frame).convert("RGB").save(stream, "PNG")
    return stream.getvalue()


def frame_snapshots(times: Float) -> list[int]:
    """The snapshot of every frame: evenly spread in time, the nearest snapshot each, nothing invented in between."""
    if times.size < 3:
        return list(range(times.size))
    span, shortest = float(times[-1] - times[0]), float(np.diff(times).min())
    count = _MAX_FRAMES if span > _MAX_FRAMES * shortest else min(round(span / shortest) + 1, _MAX_FRAMES)
    return TimeScale(float(times[0]), float(times[-1])).nearest(times, count)


def _write_gif(frames: Iterator[AnyArray], path: Path, pause: float) -> None:
    from PIL import Image

    palette = Image.new("P", (1, 1))
    palette.putpalette(_palette())
    # one palette, no dither: what stands still stays the same, and the file small
    pictures = (Image.fromarray(frame).convert("RGB") for frame in frames)
    images = (picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    first, milliseconds = next(images), round(1000 * pause)
    first.save(path, "GIF", save_all=True, append_images=images, duration=milliseconds, loop=0, optimize=False)


def _palette() -> list[int]:
    """256 colours: the map's, greys, and what the edges of coloured lines on white are made of."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    colours = [colormaps[MAP](place)[:3] for place in np.linspace(0, 1, 184)]
    # pillow compares colours coarsely: greys next to white would take its place
    for ink, count in (("black", 24), (CATEGORIES[0], 24), (ALARM, 24)):
        share = np.linspace(0, 1, count)[:, None]
        colours += [tuple(colour) for colour in (1 - share) * np.array(to_rgb(ink)) + share]
    return [round(255 * float(part)) for colour in colours for part in colour]


def _write_mp4(frames: Iterator[AnyArray], path: Path, pause: float, encoder: str) -> None:
    first = next(frames)
    height, width = first.shape[:2]
    source = ["-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{width}x{height}", "-r", f"{1 / pause:.6g}", "-i", "-"]
    # yuv420p is what browsers and presentation programs play; bitexact leaves out dates and versions
    coding = ["-an", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-map_metadata", "-1", "-fflags", "+bitexact"]
    command = [encoder, "-loglevel", "error", "-y", *source, *coding, "-f", "mp4", str(path.absolute())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603 - no shell
        _feed(cast("IO[bytes]", process.stdin), first, frames)
        complaint = cast("IO[bytes]", process.stderr).read().decode(errors="replace").strip()
    if process.returncode != 0:
        last = complaint.splitlines()[-1] if complaint else f"exit code {process.returncode}"
        raise OutputError(f"ffmpeg could not write the movie: {last}; .gif works without it")


def _feed(pipe: IO[bytes], first: AnyArray, frames: Iterator[AnyArray]) -> None:
    # when ffmpeg gives up, its own words say why
    with suppress(BrokenPipeError):
        pipe.write(first.tobytes())
        for frame in frames:
            pipe.write(frame.tobytes())
    with suppress(BrokenPipeError):
        pipe.close()
