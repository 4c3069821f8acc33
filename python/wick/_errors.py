"""Errors: one class for each cause, with the text that Wick gives."""

from __future__ import annotations

import enum
import operator
from typing import Any


class Code(enum.IntEnum):
    """Causes of errors, with the numbers of wick_code in wick/wick.h.

    >>> Code.SHAPE_MISMATCH
    <Code.SHAPE_MISMATCH: 2>
    """

    OK = 0
    INVALID_ARGUMENT = 1
    SHAPE_MISMATCH = 2
    TYPE_MISMATCH = 3
    NOT_FOUND = 4
    UNSUPPORTED = 5
    INVALID_PROGRAM = 6
    BUDGET_EXCEEDED = 7
    OUT_OF_MEMORY = 8
    IO = 9
    DEVICE = 10
    DEADLINE = 11
    INTERNAL = 12
    CANCELLED = 13
    BUSY = 14
    #: The command `wick` failed and gives a text alone.
    COMMAND = 100


class Error(RuntimeError):
    """What every error of Wick is. str() is the text: what, where, what to do.

    `code` is the cause. Subclasses also are the built-in exception that Python's users expect.

    >>> issubclass(ShapeMismatch, Error) and issubclass(ShapeMismatch, ValueError)
    True
    """

    code: Code = Code.INTERNAL

    # That of an OSError would be "[Errno 2] None: 'm.wick'" once it has a filename.
    __str__ = Exception.__str__


class InvalidArgument(Error, ValueError):
    """A name, a rank, a count or a value of the caller's is wrong."""

    code = Code.INVALID_ARGUMENT


class ShapeMismatch(InvalidArgument):
    """Shapes do not fit the model's."""

    code = Code.SHAPE_MISMATCH


class TypeMismatch(InvalidArgument, TypeError):
    """Dtypes do not fit the model's."""

    code = Code.TYPE_MISMATCH


class NotFound(Error, LookupError):
    """There is no such entry point, symbol or device."""

    code = Code.NOT_FOUND


class NoSuchFile(NotFound, FileNotFoundError):
    """There is no such file."""


class Unsupported(Error, NotImplementedError):
    """It is valid, and this build has no kernel or feature for it."""

    code = Code.UNSUPPORTED


class InvalidProgram(Error, ValueError):
    """The file breaks the format's rules."""

    code = Code.INVALID_PROGRAM


class BudgetExceeded(Error):
    """A limit was passed: max_file, max_ram."""

    code = Code.BUDGET_EXCEEDED


class OutOfMemory(Error, MemoryError):
    """There is no memory left."""

    code = Code.OUT_OF_MEMORY


class IOFailure(Error, OSError):
    """A file cannot be opened, read or mapped."""

    code = Code.IO


class DeviceError(Error):
    """The accelerator failed."""

    code = Code.DEVICE


class Deadline(Error, TimeoutError):
    """RunOptions.timeout passed."""

    code = Code.DEADLINE


class Cancelled(Error):
    """RunOptions.terminate was set."""

    code = Code.CANCELLED


class CommandError(Error):
    """The command `wick` failed. `command`, `where` and `hint` are those of its --json."""

    code = Code.COMMAND

    def __init__(self, text: str, command: str = "", where: str = "", hint: str = "") -> None:
        super().__init__(text)
        self.command = command
        self.where = where
        self.hint = hint


class UsageError(CommandError, InvalidArgument):
    """The command `wick` was given an option or a value that it does not take."""

    code = Code.INVALID_ARGUMENT


_CLASSES: dict[int, type[Error]] = {
    Code.INVALID_ARGUMENT: InvalidArgument,
    Code.SHAPE_MISMATCH: ShapeMismatch,
    Code.TYPE_MISMATCH: TypeMismatch,
    Code.NOT_FOUND: NotFound,
    Code.UNSUPPORTED: Unsupported,
    Code.INVALID_PROGRAM: InvalidProgram,
    Code.BUDGET_EXCEEDED: BudgetExceeded,
    Code.OUT_OF_MEMORY: OutOfMemory,
    Code.IO: IOFailure,
    Code.DEVICE: DeviceError,
    Code.DEADLINE: Deadline,
    Code.CANCELLED: Cancelled,
}


def error_of(code: int, text: str) -> Error:
    """Returns the exception of a wick_code."""
    made = _CLASSES.get(code, Error)(text)
    if code in Code._value2member_map_:
        made.code = Code(code)
    return made


def error_of_os(what: str, why: OSError) -> Error:
    """Returns the exception for one of the operating system's, with what failed in front, its number and its file's name."""
    kind = NoSuchFile if isinstance(why, (FileNotFoundError, NotADirectoryError)) else IOFailure
    made: NoSuchFile | IOFailure = kind(f"{what}: {why.strerror or why}")
    made.errno, made.filename = why.errno, why.filename
    return made


def whole(what: str, value: Any, low: int, high: int) -> int:
    """Returns an integer that C can hold. InvalidArgument: it is none, or not between low and high."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(f"{what} is {value!r}, must be an integer") from None
    if not low <= number <= high:
        raise InvalidArgument(f"{what} is {number}, must be {f'{low} or more' if number < low else f'at most {high}'}")
    return number


def text(what: str, value: Any) -> bytes:
    """Returns a text as C takes it. InvalidArgument: it is none, or has a NUL, where it would end for C."""
    if not isinstance(value, str) or "\0" in value:
        raise InvalidArgument(f"{what} is {value!r}, must be a text without NUL")
    return value.encode("utf-8", "surrogateescape")
