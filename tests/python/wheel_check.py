#!/usr/bin/env python3
"""tools/scripts/check_wheel.py must see what is wrong with a wheel, and wheels.sh must heed it: made-up ones, without a build."""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = os.path.join(ROOT, "tools", "scripts", "check_wheel.py")


def elf(machine=62, needed=("libc.so.6",), versions=("GLIBC_2.14",)):
    """A shared library of nothing but the tables that the check reads."""
    names = [*needed, *versions]
    strings = b"\0" + b"".join(n.encode() + b"\0" for n in names)
    at = {n: strings.index(b"\0" + n.encode() + b"\0") + 1 for n in names}
    dynamic = b"".join(struct.pack("<QQ", 1, at[n]) for n in needed) + bytes(16)
    need = struct.pack("<HHIII", 1, len(versions), 0, 16, 0)
    for i, v in enumerate(versions):
        need += struct.pack("<IHHII", 0, 0, 0, at[v], 16 if i + 1 < len(versions) else 0)
    offsets, body = [], b""
    for part in (strings, dynamic, need):
        offsets.append(64 + len(body))
        body += part
    rows = [(3, offsets[0], len(strings), 0, 0), (6, offsets[1], len(dynamic), 0, 0)]
    if versions:
        rows.append((0x6FFFFFFE, offsets[2], len(need), 0, 1))
    table = b"".join(struct.pack("<IIQQQQIIQQ", 0, k, 0, 0, o, n, link, info, 0, 0) for k, o, n, link, info in rows)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(rows), 0)
    return head + body + table


def macho(version=(13, 0), machine=0x0100000C):
    command = struct.pack("<IIIIII", 0x32, 24, 1, version[0] << 16 | version[1] << 8, 0, 0)
    return struct.pack("<IIIIIIII", 0xFEEDFACF, machine, 0, 6, 1, len(command), 0, 0) + command


def pe(machine=0x8664):
    return b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", machine) + bytes(20)


GLIBC, MUSL, MAC, WIN = "manylinux_2_17_x86_64", "musllinux_1_2_aarch64", "macosx_13_0_arm64", "win_amd64"
# (tag, files, a part of what is said; "": nothing)
CASES = [
    (GLIBC, {"lib/libwick.so": elf()}, ""),
    (GLIBC, {"lib/libwick.so": elf(versions=("GLIBC_2.14", "GLIBC_2.18"))}, "it needs GLIBC_2.18"),
    (GLIBC, {"lib/libwick.so": elf(versions=("GLIBCXX_3.4",))}, "it needs GLIBCXX_3.4"),
    (GLIBC, {"lib/libwick.so": elf(needed=("libc.so.6", "libre2.so.9"))}, "it needs libre2.so.9"),
    (GLIBC, {"lib/libwick.so": elf(machine=183)}, "machine 183"),
    (GLIBC, {}, "0 libraries"),
    (GLIBC, {"lib/libwick.so": elf(), "lib/more.so": elf()}, "2 libraries"),
    (GLIBC, {"lib/libother.so": elf()}, "not libwick.so"),
    (GLIBC, {"lib/libwick.so": elf() + os.urandom(5_100_000)}, "more than 5000000"),
    (GLIBC, {"lib/libwick.so": elf(), "bin/wick": b"program"}, "it has a program"),
    (GLIBC, {"lib/libwick.so": elf(), "_train.cpython-311.so": b"module"}, "it has a program or training"),
    (MUSL, {"lib/libwick.so": elf(183, ("libc.so",), ())}, ""),
    (MUSL, {"lib/libwick.so": elf(183, ("libc.so.6",), ())}, "it needs libc.so.6"),
    (MAC, {"lib/libwick.dylib": macho()}, ""),
    (MAC, {"lib/libwick.dylib": macho((14, 0))}, "it needs macOS 14.0"),
    (MAC, {"lib/libwick.dylib": macho(machine=7)}, "no 64-bit library for Arm"),
    (WIN, {"lib/wick.dll": pe()}, ""),
    (WIN, {"lib/wick.dll": pe(0x14C)}, "no 64-bit library for x86"),
    ("any", {"lib/libwick.so": elf()}, "no platform that is known"),
]


# A Python in the place of the script's own, for which every step but one goes well.
PYTHON = """#!/usr/bin/env bash
case "$*" in
  "-m pip wheel"*) [ "$FAILS" = pip ] && exit 1
    case "$*" in *" -C"*) exit 2 ;; esac
    while [ "$1" != -w ]; do shift; done
    touch "$2/wick-0.1.0-py3-none-linux.whl" ;;
  *check_wheel.py*) [ "$FAILS" = check ] && exit 1 ;;
  "-m wheel tags"*) [ "$FAILS" = tags ] && exit 1 ;;
esac
exit 0
"""


def wheels(fails, *platforms):
    """Returns the exit code of tools/scripts/wheels.sh and the wheels that it gave out, where that step fails."""
    with tempfile.TemporaryDirectory() as root:
        script = os.path.join(root, "tools", "scripts", "wheels.sh")
        python = os.path.join(root, "build", "wheels-work", "venv", "bin", "python")
        for path in (script, python):
            os.makedirs(os.path.dirname(path))
        shutil.copy(os.path.join(ROOT, "tools", "scripts", "wheels.sh"), script)
        with open(python, "w", encoding="utf-8") as file:
            file.write(PYTHON)
        os.chmod(python, 0o755)
        out = os.path.join(root, "out")
        command = ["bash", script, "--out", out, "musl_x86_64", *platforms]
        done = subprocess.run(command, env={**os.environ, "FAILS": fails}, capture_output=True, text=True, check=False)
        return done.returncode, os.listdir(out), done.stdout + done.stderr


def main():
    passed, failed = 0, 0
    with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as file:
        excluded = re.findall(r'"([^"]*)"', re.search(r"^sdist.exclude = \[(.*)\]", file.read(), re.M)[1])
    loose = [pattern for pattern in excluded if not pattern.startswith("/")]  # those match files of the sources, too
    if excluded and not loose:
        passed += 1
    else:
        failed += 1
        print(f"pyproject.toml: the sources' package leaves out what {loose} matches anywhere")
    code, made, said = wheels("", "musl_x68_64")
    if (code, made) == (2, []) and "no such platform: musl_x68_64; there are: manylinux_x86_64 " in said:
        passed += 1
    else:
        failed += 1
        print(f"wheels.sh of a platform that is none: exit {code}, gave out {made}: {said}")
    for fails in ("", "pip", "tags", "check"):
        code, made, said = wheels(fails)
        if (code == 0, len(made)) == ((True, 1) if fails == "" else (False, 0)):
            passed += 1
        else:
            failed += 1
            print(f"wheels.sh where '{fails}' fails: exit {code}, gave out {made}: {said}")
    with tempfile.TemporaryDirectory() as folder:
        for tag, files, want in CASES:
            path = os.path.join(folder, f"wick-0.1.0-py3-none-{tag}.whl")
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
                wheel.writestr("wick/__init__.py", "")
                for name, data in files.items():
                    wheel.writestr("wick/" + name, data)
            done = subprocess.run([sys.executable, CHECK, path], capture_output=True, text=True, check=False)
            right = (done.returncode, done.stdout) == (0, "") if want == "" else done.returncode == 1 and want in done.stdout
            if right and not done.stderr:
                passed += 1
            else:
                failed += 1
                print(f"{tag} {sorted(files)}: wanted {want!r}, got {done.returncode} {done.stdout}{done.stderr}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
