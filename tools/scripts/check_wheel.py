#!/usr/bin/env python3
"""Holds wheels of the Python package to what their names say.

  check_wheel.py WHEEL...

A wheel for inference has at most 5 MB, one shared library for the machine of its tag, linked with nothing but the system's
own libraries: glibc's symbols up to the version of the tag, macOS not newer than it. Exit 0: all hold; 1: a line per problem.
"""

import os
import re
import struct
import sys
import zipfile

LIMIT = 5_000_000
MACHINES = {"x86_64": 62, "aarch64": 183}  # ELF's
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
MUSL = {"libc.so", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"}


def text_at(data, offset):
    return data[offset : data.index(b"\0", offset)].decode("ascii", "replace")


def read_elf(data):
    """Returns (machine, names of needed libraries, versions of symbols that are needed)."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF file")
    machine = struct.unpack_from("<H", data, 18)[0]
    offset, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    needed, versions = [], []
    for section in sections:
        kind, at, length, link, info = section[1], section[4], section[5], section[6], section[7]
        strings = sections[link][4] if link < len(sections) else 0
        if kind == 6:  # SHT_DYNAMIC
            for i in range(0, length, 16):
                tag, value = struct.unpack_from("<QQ", data, at + i)
                if tag == 1:  # DT_NEEDED
                    needed.append(text_at(data, strings + value))
        elif kind == 0x6FFFFFFE:  # SHT_GNU_verneed
            for _ in range(info):
                _, entries, _, aux, step = struct.unpack_from("<HHIII", data, at)
                entry = at + aux
                for _ in range(entries):
                    _, _, _, name, following = struct.unpack_from("<IHHII", data, entry)
                    versions.append(text_at(data, strings + name))
                    entry += following
                at += step
    return machine, needed, versions


def check_elf(data, platform):
    machine, needed, versions = read_elf(data)
    flavour, high, low, name = re.match(r"(many|musl)linux_(\d+)_(\d+)_(\w+)$", platform).groups()
    if machine != MACHINES[name]:
        yield f"it is for machine {machine} of ELF, not {name}"
    for library in sorted(set(needed) - (GLIBC if flavour == "many" else MUSL)):
        yield f"it needs {library}"
    for version in sorted(set(versions)):
        number = re.match(r"GLIBC_(\d+)\.(\d+)", version)
        if number is None or flavour == "musl" or tuple(map(int, number.groups())) > (int(high), int(low)):
            yield f"it needs {version}"


def check_macho(data, platform):
    magic, machine, _, _, commands = struct.unpack_from("<IIIII", data)
    if magic != 0xFEEDFACF or machine != 0x0100000C:
        yield "it is no 64-bit library for Arm"
        return
    high, low = map(int, re.match(r"macosx_(\d+)_(\d+)_arm64$", platform).groups())
    at, seen = 32, False
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if command == 0x32:  # LC_BUILD_VERSION
            seen = True
            least = struct.unpack_from("<I", data, at + 12)[0]
            if (least >> 16, least >> 8 & 255) > (high, low):
                yield f"it needs macOS {least >> 16}.{least >> 8 & 255}"
        at += size
    if not seen:
        yield "it does not say which macOS it needs"


def check_pe(data, platform):
    at = struct.unpack_from("<I", data, 0x3C)[0] if data[:2] == b"MZ" else 0
    if data[at : at + 4] != b"PE\0\0" or struct.unpack_from("<H", data, at + 4)[0] != 0x8664:
        yield "it is no 64-bit library for x86"


# The beginning of a tag, the library's name, and what reads it.
KINDS = [
    ("manylinux", "libwick.so", check_elf),
    ("musllinux", "libwick.so", check_elf),
    ("win_amd64", "wick.dll", check_pe),
    ("macosx", "libwick.dylib", check_macho),
]


def check(path):
    platform = os.path.basename(path)[:-4].split("-")[-1]
    size = os.path.getsize(path)
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        if any(n.startswith(("wick/bin/", "wick/_train.")) and not n.endswith(".pyi") for n in names):
            yield "it has a program or training: it is no wheel for inference"
        elif size > LIMIT:
            yield f"it has {size} bytes, more than {LIMIT}"
        libraries = [n for n in names if n.startswith("wick/lib/")]
        if len(libraries) != 1:
            yield f"it has {len(libraries)} libraries, not one: {libraries}"
            return
        data = wheel.read(libraries[0])
    for prefix, expected, read in KINDS:
        if platform.startswith(prefix):
            break
    else:
        yield f"its tag {platform} is of no platform that is known here"
        return
    if os.path.basename(libraries[0]) != expected:
        yield f"its library is called {libraries[0]}, not {expected}"
    yield from read(data, platform)


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    wrong = 0
    for path in sys.argv[1:]:
        for problem in check(path):
            print(f"{path}: {problem}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
