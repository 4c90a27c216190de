"""A small file beside work under way that says how far it is: the HDF5 file itself is locked meanwhile."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from mfpde.contracts import Watched
from mfpde.store.atomic_file import appearing, companion, is_alive
from mfpde.watching.progress import ProgressReport, Reporter

__all__ = ["StatusFile", "read_status", "status_path"]

_SECONDS_BETWEEN_WRITES = 1.0  # promised
_SILENCE_SECONDS = 60.0  # after which work on another machine, where nobody can ask for its process, counts as dead


class StatusFile(Reporter):
    """The reporter that replaces `RUN.status.json` once a second, whatever is being done, and removes it at the end."""

    def __init__(self, path: Path, end: float) -> None:
        self._path = status_path(path)
        super().__init__(self._write, _SECONDS_BETWEEN_WRITES, end, beating=_SECONDS_BETWEEN_WRITES)

    def begin(self, watched: Watched) -> None:
        super().begin(watched)
        self._tell(self._last)

    def end(self) -> None:
        self.close()

    def close(self) -> None:
        super().close()
        if not self._of_another():
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _of_another(self) -> bool:
        """Whether another process that is alive writes there: of two with one output, one will be told."""
        record = _read(self._path)
        return record is not None and record["pid"] != os.getpid()

    def _write(self, report: ProgressReport) -> None:
        if report.doing and self._of_another():
            return
        process = os.getpid()
        record = {
            "time": report.time,
            "until": report.until,
            "step": report.steps,
            "rate": report.rate,
            "remaining": report.remaining,
            **report.detail,
            "doing": report.doing or "steps",
            "elapsed": report.elapsed,
            "outcome": None,
            "pid": process,
            "host": socket.gethostname(),
            "started": _started(process),
            "updated": time.time(),
        }
        with suppress(OSError), appearing(self._path, force=True) as part:  # nothing ends because nobody can watch it
            part.write_text(json.dumps(record), encoding="utf-8")


def status_path(path: Path) -> Path:
    """`run.h5` -> `run.status.json`, also where that is a long name."""
    return companion(path, ".status.json")


def read_status(path: str | Path) -> dict[str, Any] | None:
    """How far the run that writes this file is, or None when none is under way.

    What a killed run left behind counts as none.
    """
    return _read(status_path(Path(os.path.realpath(path))))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record if isinstance(record, dict) and _alive(record) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _alive(record: dict[str, Any]) -> bool:
    if record["host"] != socket.gethostname():
        return bool(time.time() - record["updated"] < _SILENCE_SECONDS)
    process = int(record["pid"])
    return is_alive(process) and record["started"] in (None, _started(process))


def _started(process: int) -> int | None:
    """When a process was started, in ticks since the machine was: its number may since belong to another one."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
