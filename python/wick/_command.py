"""The command `wick`, which compiles, quantizes, verifies and reports: a program of the whole package.

The functions of _tools.py run it with --json, so that they say what the command says.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import Any, Sequence

from ._errors import CommandError, Unsupported, UsageError, error_of_os

_NAME = "wick.exe" if sys.platform == "win32" else "wick"
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", _NAME)
_ANSWER_IS_NO = 3


def program() -> str:
    """Returns the path of the program: $WICK_PROGRAM, or the package's own."""
    return os.environ.get("WICK_PROGRAM") or _PROGRAM


def scratch() -> AbstractContextManager[str]:
    """Returns a folder that is gone when the `with` ends."""
    import tempfile  # takes longer to import than the rest of the package

    return tempfile.TemporaryDirectory(prefix="wick-")


def plain_path(path: str) -> str:
    """Returns a path that the command takes for one: a name that begins with a dash would be an option, or standard input."""
    return os.path.join(os.curdir, path) if path.startswith("-") else path


def found() -> bool:
    """Returns whether this package has the program. Wheels for inference have not."""
    return os.path.isfile(program())


def need(what: str) -> None:
    """Raises Unsupported where the package has no program."""
    if not found():
        raise Unsupported(
            f"{what} needs the program `wick`, which this package for inference does not have: install the whole one "
            "(`pip install .` in Wick's tree), or name a `wick` that is installed in the environment's WICK_PROGRAM"
        )


def run(
    command: str, arguments: Sequence[str], *, json_too: bool = True, progress: bool = False, folder: str | None = None
) -> tuple[Any, bool]:
    """Runs `wick COMMAND ... --json`. Returns its document, and False where the answer is no (exit code 3).

    progress: what the command writes to its standard error is shown. UsageError: exit code 2; CommandError: any other.
    """
    import json
    import subprocess

    need(f"`wick {command}`")
    line = [program(), command, *arguments, *(["--json"] if json_too else [])]
    try:
        done = subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if progress else subprocess.PIPE,
            cwd=folder,
            check=False,
        )
    except OSError as why:  # it is no program, or the line is too long
        raise error_of_os(f"{line[0]} cannot be run", why) from why
    except ValueError as why:  # a NUL within an argument
        raise UsageError(f"`wick {command}` cannot be given this: {why}", command) from why
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode not in (0, _ANSWER_IS_NO):
        raise _error(command, done.returncode, text, (done.stderr or b"").decode("utf-8", "replace"))
    try:
        return (json.loads(text) if json_too else text), done.returncode == 0
    except ValueError as why:
        raise CommandError(f"{line[0]} answered no JSON ({why}): is it Wick's?", command) from why


def _error(command: str, code: int, out: str, err: str) -> CommandError:
    import json

    try:
        said = json.loads(out)
    except ValueError:
        said = {}
    if not isinstance(said, dict) or "error" not in said:
        last = err.strip().splitlines()[-1:] or [f"it ended with {code}"]
        said = {"error": last[0].removeprefix("wick: ")}
    kind = UsageError if code == 2 else CommandError
    return kind(str(said["error"]), command, str(said.get("where", "")), str(said.get("hint", "")))
