"""Measurements on disk: each is kept when it is done, so that a study that was stopped goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mfpde.errors import ResumeError
from mfpde.store.atomic_file import cannot_write

__all__ = ["Kept"]


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
            self._write(json.dumps(subject) + "\n", fresh=True)

    @staticmethod
    def subject_in(path: Path) -> dict[str, Any] | None:
        """Of a study that was begun."""
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:1] if path.exists() else []
        found: dict[str, Any] | None = json.loads(lines[0]) if lines and lines[0].endswith("\n") else None
        return found

    def add(self, measurement: dict[str, Any]) -> None:
        """Once it is done."""
        self.measurements[measurement["count"], measurement["repeat"]] = measurement
        if self._path is not None:
            self._write(json.dumps(measurement) + "\n")

    def _read(self, subject: dict[str, Any]) -> None:
        assert self._path is not None  # noqa: S101 - for the type checker
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        found = self.subject_in(self._path) or {}
        for name, value in subject.items():
            if found.get(name) != json.loads(json.dumps(value)):
                raise ResumeError(f"{self._path} was measured for another {name}; without --resume it begins again")
        for line in whole[1:]:
            measurement = json.loads(line)
            self.measurements[measurement["count"], measurement["repeat"]] = measurement
        if len(whole) < len(lines):  # the last one was being written
            self._write("".join(whole), fresh=True)

    def _write(self, text: str, *, fresh: bool = False) -> None:
        assert self._path is not None  # noqa: S101 - for the type checker
        try:
            with self._path.open("w" if fresh else "a", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise cannot_write(self._path, error) from error
