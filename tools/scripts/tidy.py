#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build: tidy.py BUILD_DIR [--jobs N] [--tests] [FILES...]

A file that was clean is not looked at again until it, a header of this repository that it includes
(however deep) or a .clang-tidy changes: build/check/tidy holds a stamp for each such state. A first
run takes about twenty minutes of one core; --tests adds tests/ and bench/ and doubles it.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from compile_commands import entries_of  # noqa: E402  (beside this script)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ("runtime/", "graph/", "trainer/", "exporter/", "quantize/", "tools/")
TESTS = ("tests/", "bench/")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
# A SIMD body is read for one target besides the baseline: the others are the same text.
TARGETS = re.compile(r" -DHWY_DISABLED_TARGETS=HWY_SSSE3")
ONE_TARGET = ' "-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)"'
# Flags of g++ that clang refuses, and g++'s precompiled header: a file includes what it needs.
GNU_ONLY = re.compile(r" -fvect-cost-model=\S+| -Winvalid-pch| -Wno-subobject-linkage| -include \S+/cmake_pch\.hxx")
PLACES = ("", "runtime/include/", "trainer/include/", "exporter/include/")


def closure(path, seen):
    """Adds `path` and the repository's files it includes to `seen` (path -> content)."""
    if path in seen or not os.path.isfile(os.path.join(ROOT, path)):
        return
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as f:
        seen[path] = f.read()
    for name in INCLUDE.findall(seen[path]):
        for place in PLACES:
            closure(place + name, seen)


def config_of(path):
    """The .clang-tidy files that hold for a source: its folder's and those above it."""
    text = ""
    while True:
        path = os.path.dirname(path)
        name = os.path.join(ROOT, path, ".clang-tidy")
        if os.path.isfile(name):
            with open(name, encoding="utf-8") as f:
                text += f.read()
        if path == "":
            return text


def state_of(path):
    seen = {}
    closure(path, seen)
    digest = hashlib.sha256(config_of(path).encode())
    for name in sorted(seen):
        digest.update(name.encode() + b"\0" + seen[name].encode() + b"\0")
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tool", default="clang-tidy-16")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("files", nargs="*")
    args = parser.parse_intermixed_args()

    entries = entries_of(args.build)
    commands = [os.path.relpath(entry["file"], ROOT) for entry in entries]
    rooms = ROOMS + TESTS if args.tests or args.files else ROOMS
    files = sorted({f for f in commands if f.startswith(rooms)})
    if args.files:
        files = [f for f in files if f in set(args.files)]
    own = "^" + re.escape(ROOT) + "/(" + "|".join(room.rstrip("/") for room in ROOMS + TESTS) + ")/.*\\.h$"
    stamps = os.path.join(ROOT, "build", "check", "tidy")
    os.makedirs(stamps, exist_ok=True)
    for entry in entries:
        entry["command"] = TARGETS.sub(ONE_TARGET, GNU_ONLY.sub("", entry["command"]))
    with open(os.path.join(stamps, "compile_commands.json"), "w", encoding="utf-8") as f:
        json.dump(entries, f)
    start, looked = time.monotonic(), []

    def check(path):
        stamp = os.path.join(stamps, state_of(path))
        if os.path.exists(stamp):
            return path, True, ""
        looked.append(path)
        done = subprocess.run([args.tool, "-p", stamps, "--quiet", "--header-filter=" + own,
                               os.path.join(ROOT, path)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            with open(stamp, "w", encoding="utf-8") as f:
                f.write(path + "\n")
        return path, done.returncode == 0, done.stdout + ("" if done.returncode == 0 else done.stderr)

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for path, ok, output in pool.map(check, files):
            if not ok:
                bad += 1
                print(f"clang-tidy: {path}\n{output}", flush=True)
    print(f"clang-tidy: {len(files)} files, {bad} with findings; "
          f"{len(looked)} looked at in {time.monotonic() - start:.0f} s")
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main())
