"""`wick` and `python -m wick`: the command, where this package has it."""

from __future__ import annotations

import os
import subprocess
import sys

from . import _command
from ._errors import Error


def main() -> int:
    """Becomes the command; where the package has none, says so and returns 1."""
    try:
        _command.need("This")
    except Error as why:
        print(f"wick: {why}", file=sys.stderr)
        return 1
    line = [_command.program(), *sys.argv[1:]]
    if sys.platform == "win32":
        return subprocess.call(line)
    os.execv(line[0], line)


if __name__ == "__main__":
    sys.exit(main())
