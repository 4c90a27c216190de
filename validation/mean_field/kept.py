"""Measurements on disk: each is kept when it is done, so that a study that was stopped goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mfpde.errors import ResumeError
from mfpde.store.atomic_file import cannot_write, replacing

__all__ = ["Kept"]

_LAYOUT = 2  # of a measurement: one more whenever what is measured, or what it is called, changes
_AGAIN = "--force in place of --resume measures again"  # of all errors of a file that cannot be gone on with


class Kept:
    """A file of one line for what is measured, and one for each measurement; in memory alone without a path."""

    def __init__(self, path: Path | None, subject: dict[str, Any], *, resume: bool) -> None:
        self._path = path
        self.measurements: dict[tuple[int, int], dict[str, Any]] = {}
        if self._path is None:
            return
        if resume and self._path.exists():
            self._read(subject)
        else:
            self._begin(subject)

    @staticmethod
    def subject_in(path: Path) -> dict[str, Any] | None:
        """Of a study that was begun; None where its first line is not whole."""
        lines = _whole_lines(path) if path.exists() else []
        found: dict[str, Any] | None = _parsed(path, lines[0]) if lines else None
        if found is not None and found.get("layout") != _LAYOUT:
            raise ResumeError(f"{path} has measurements of another version of mfpde; {_AGAIN}")
        return found

    def add(self, measurement: dict[str, Any]) -> None:
        """Once it is done."""
        self.measurements[measurement["count"], measurement["repeat"]] = measurement
        if self._path is not None:
            self._write(json.dumps(measurement) + "\n")

    def _read(self, subject: dict[str, Any]) -> None:
        assert self._path is not None  # noqa: S101 - for the type checker
        found = self.subject_in(self._path)
        if found is None:
            self._begin(subject)
            return
        for name, value in subject.items():
            if found.get(name) != json.loads(json.dumps(value)):
                raise ResumeError(f"{self._path} was measured for another {name}; {_AGAIN}")
        whole = _whole_lines(self._path)
        for line in whole[1:]:
            measurement = _parsed(self._path, line)
            self.measurements[measurement["count"], measurement["repeat"]] = measurement
        with replacing(self._path) as part:  # without the line that was being written
            part.write_text("".join(whole), encoding="utf-8")

    def _begin(self, subject: dict[str, Any]) -> None:
        self._write(json.dumps({"layout": _LAYOUT, **subject}) + "\n", fresh=True)

    def _write(self, text: str, *, fresh: bool = False) -> None:
        assert self._path is not None  # noqa: S101 - for the type checker
        try:
            with self._path.open("w" if fresh else "a", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise cannot_write(self._path, error) from error


def _whole_lines(path: Path) -> list[str]:
    """Without one that was being written when its process was killed."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise ResumeError(f"{path} cannot be read: {error}") from error
    return [line for line in lines if line.endswith("\n")]


def _parsed(path: Path, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ResumeError(f"{path} is damaged: {line[:40]!r} is no measurement; {_AGAIN}")
    return found
