"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import IO, Any, Iterator

from ._errors import Error, error_of_os


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb", **named: Any) -> Iterator[IO[Any]]:
    """Opens a file beside `path` that takes its place when the `with` ends; an exception leaves what was there.

    Who has the old file open or mapped keeps it. NoSuchFile, IOFailure: it cannot be written.
    """
    target = os.path.realpath(os.fsdecode(path))  # a link stays a link
    temporary = ""
    try:
        before = os.stat(target) if os.path.exists(target) else None
        if before is not None and not stat.S_ISREG(before.st_mode):  # a pipe or a terminal has no place to take
            with open(target, mode, **named) as file:
                yield file
            return
        folder, name = os.path.split(target)
        temporary = os.path.join(folder, f".{name[:40]}.{os.getpid()}.{os.urandom(4).hex()}")
        with open(temporary, mode.replace("w", "x"), **named) as file:
            if before is not None:
                os.chmod(temporary, stat.S_IMODE(before.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        temporary = ""
    except OSError as why:
        if isinstance(why, Error):
            raise
        raise error_of_os(f"{target} cannot be written", why) from why
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.remove(temporary)
