"""Pages that run. A fence `{run}` is executed when the docs are built, and its output and figure follow it:

    ```{run} python            executed in one namespace per page, from top to bottom; what it prints is shown
    ```{run} console           each line is a shell command; what it prints is shown
    ```{run} file NAME         written to a file of that name

Options, one a line after the fence: `:figure: FILE | what it shows` (a file the block wrote), `:exit: 2` (a command's
exit code), `:hide:` (run, show the figure alone). A page runs in a process and a folder of its own, so it cannot
disturb the build or another page. This file is that process, too: it needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "PageError", "blocks", "execute", "rendered"]

_FENCE = re.compile(
    r"^```\{run\}[ ]+(?P<kind>python|console|file)[ ]*(?P<name>\S*)\n(?P<options>(?::\w+:[^\n]*\n)*)(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_OUTPUTS = "outputs.json"
_LIMIT = 300  # seconds for one page


class PageError(Exception):
    """A page whose code does not run."""


@dataclass(frozen=True)
class Block:
    """One fence: what to do with its code, and where it stands in the page."""

    kind: str
    name: str
    options: dict[str, str]
    code: str
    span: tuple[int, int]
    line: int


def blocks(text: str) -> list[Block]:
    """The fences of a page, in order."""
    found = []
    for match in _FENCE.finditer(text):
        options = dict(re.findall(r"^:(\w+):[ ]*(.*)$", match["options"], re.MULTILINE))
        line = text.count("\n", 0, match.start("code"))
        found.append(Block(match["kind"], match["name"], options, match["code"], match.span(), line))
    return found


def execute(page: Path, folder: Path) -> list[str]:
    """Run a page in a new process, in `folder`; what each of its blocks printed."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    here = Path(sys.executable).parent
    environment = {**os.environ, "MPLBACKEND": "Agg", "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [sys.executable, str(Path(__file__).resolve()), str(page.resolve())]
    done = subprocess.run(  # noqa: S603  this file, on one of our own pages
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_LIMIT, check=False
    )
    if done.returncode:
        raise PageError(f"{page}: {done.stderr.strip()}")
    outputs: list[str] = json.loads((folder / _OUTPUTS).read_text(encoding="utf-8"))
    return [output.replace(f"{folder.resolve()}{os.sep}", "") for output in outputs]


def rendered(text: str, outputs: list[str], folder: str) -> str:
    """The page with every fence as code, output and figure; `folder` is where figures are, seen from the page."""
    pieces, end = [], 0
    for block, output in zip(blocks(text), outputs, strict=True):
        pieces += [text[end : block.span[0]], _shown(block, output, folder)]
        end = block.span[1]
    return "".join([*pieces, text[end:]])


def _shown(block: Block, output: str, folder: str) -> str:
    parts = []
    if "hide" not in block.options:
        parts.append(_code(block))
        if output.strip():
            parts.append(f"```{{code-block}} text\n:class: output\n\n{output.rstrip()}\n```")
    if "figure" in block.options:
        file, _, words = (part.strip() for part in block.options["figure"].partition("|"))
        parts.append(f"![{words}]({folder}/{file})")
    return "\n\n".join(parts)


def _code(block: Block) -> str:
    code = block.code.rstrip("\n")
    if block.kind == "file":
        language = {".yaml": "yaml", ".py": "python"}.get(Path(block.name).suffix, "text")
        return f"```{{code-block}} {language}\n:caption: {block.name}\n\n{code}\n```"
    if block.kind == "console":
        code = "\n".join(f"$ {line}" for line in code.splitlines())
    return f"```{block.kind}\n{code}\n```"


def _run_page(page: Path) -> None:
    """In the process of the page: run all blocks, leave the outputs in a file."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  files that the page wrote are modules
    names: dict[str, object] = {"__name__": "__main__"}
    outputs = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "file":
            Path(block.name).write_text(block.code, encoding="utf-8")
            outputs.append("")
        elif block.kind == "console":
            outputs.append(_console(block))
        else:
            outputs.append(_python(block, page, names))
    Path(_OUTPUTS).write_text(json.dumps(outputs), encoding="utf-8")


def _python(block: Block, page: Path, names: dict[str, object]) -> str:
    program = compile("\n" * block.line + block.code, str(page), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, names)  # noqa: S102  the code of our own pages
    return printed.getvalue()


def _console(block: Block) -> str:
    wanted = int(block.options.get("exit", "0"))
    printed = []
    for line in block.code.splitlines():
        done = subprocess.run(  # noqa: S602  the commands of our own pages
            line, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode != wanted:
            sys.exit(f"line {block.line + 1}: {line!r} left with {done.returncode}, not {wanted}:\n{done.stdout}")
        printed.append(done.stdout)
    return "".join(printed)


if __name__ == "__main__":
    _run_page(Path(sys.argv[1]))
