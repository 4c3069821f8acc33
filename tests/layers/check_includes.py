#!/usr/bin/env python3
"""Holds the arrows of docs/architecture.md: reads every #include of a tree and reports the upward ones.

It also holds what wick/runtime.h shows: the headers that it reaches are those of SHOWN.

usage: check_includes.py [ROOT]      exit 0: all arrows hold; 1: one line per violation
"""

import os
import re
import sys

# The rooms that each room may include, besides itself. The longest prefix wins; a room listed here sees only these.
PLATFORM = "runtime/platform"  # the operating system: for the runtime alone
CORE, OPS, KERNELS = "runtime/core", "runtime/ops", "runtime/kernels"
PROGRAM, PLAN, BACKEND, EXEC = "runtime/program", "runtime/plan", "runtime/backend", "runtime/exec"
PUBLIC = "runtime/include"  # wick/runtime.h, wick/wick.h
VULKAN = "runtime/include/wick/vulkan.h"  # what a user of Wick::vulkan includes
REGISTRY = "runtime/registry"  # users' own ops: for everything above the runtime, as ERROR
ERROR = "runtime/include/wick/error.h"  # wick::Error: for everything above the runtime, never for the runtime
GUARD = "runtime/ops/op_guard.h"  # what users' ops throw: compiled with them, never in the runtime
EAGER = "runtime/backend/vulkan/eager"  # Vulkan memory and calls: the trainer's device
BASE = [CORE, OPS, KERNELS, ERROR, REGISTRY]
EVERYTHING = ["*"]
SEES = {
    PLATFORM: [],
    CORE: [PLATFORM],
    OPS: [CORE, PLATFORM, GUARD],
    GUARD: [OPS, PLATFORM],
    KERNELS: [CORE, OPS, PLATFORM],
    PROGRAM: [CORE, OPS, PLATFORM],
    PLAN: [CORE, OPS],
    BACKEND: [CORE, OPS, KERNELS, PROGRAM, PLAN],
    "runtime/backend/cpu": [CORE, OPS, KERNELS, PROGRAM, PLAN, BACKEND],
    "runtime/backend/vulkan": [PLATFORM, CORE, OPS, KERNELS, PROGRAM, PLAN, BACKEND, EAGER],
    EAGER: [PLATFORM, CORE, OPS, KERNELS, BACKEND, "runtime/backend/vulkan"],
    "runtime/backend/vulkan/c": [CORE, OPS, BACKEND, "runtime/backend/vulkan", EXEC, PUBLIC],  # its part of the C ABI
    EXEC: [PLATFORM, CORE, OPS, KERNELS, PROGRAM, PLAN, BACKEND, "runtime/backend/cpu", PUBLIC],
    "runtime/select": [PLATFORM, CORE, OPS, KERNELS, PROGRAM, BACKEND, EXEC, PUBLIC],  # a program for the machine that builds
    REGISTRY: [PLATFORM, CORE, OPS, ERROR],
    PUBLIC: [CORE, OPS, KERNELS, EXEC, BACKEND, PROGRAM, PLAN],
    VULKAN: [BACKEND, "runtime/backend/vulkan", PUBLIC],
    ERROR: [CORE],
    "graph": BASE,
    "trainer": BASE + [EAGER],
    "trainer/compile": BASE + [PLAN, "trainer"],  # plans the memory of a repeated step; nothing else of the trainer sees it
    "trainer/doctor": BASE + ["trainer", "trainer/compile"],  # compares runs of a step, compiled ones among them
    "trainer/include": [OPS, ERROR, "trainer", "trainer/compile", "trainer/doctor"],
    "trainer/capture": BASE + ["graph", "trainer"],  # a library of its own: the trainer builds without graph/
    "trainer/distributed": BASE + ["trainer"],  # a library of its own: the rest of the trainer does not see it
    "trainer/distributed/include": ["trainer/distributed"],
    "quantize": BASE + ["graph"],
    "quantize/modules": BASE + ["graph", "quantize", "trainer", "trainer/capture"],
    "quantize/qat": BASE + ["graph", "quantize", "trainer", "trainer/capture"],
    "quantize/include": ["graph", "quantize", "quantize/modules", "quantize/qat", "trainer/capture"],
    "exporter": BASE + [PROGRAM, PLAN, PUBLIC, "graph"],
    "exporter/include": ["graph", "exporter", "trainer/capture"],
    "sign": [CORE, ERROR],
    "tools/submission": BASE + ["trainer"],
    "tools/lib": BASE + [PROGRAM, PLAN, BACKEND, EXEC, PUBLIC, "runtime/backend/vulkan", "runtime/select", "graph", "trainer",
                         "quantize", "exporter", "sign"],
    "tools/lib/include": ["tools/lib"],
    "tools/serve": BASE + [PROGRAM, EXEC, "graph", "trainer", "tools/lib"],
    "tools": EVERYTHING,
    "tests": EVERYTHING,
    "targets": EVERYTHING,
    "bench": EVERYTHING,
    "examples": EVERYTHING,
}

# Third-party headers by first path element, and the rooms that may name them (tools, tests, targets,
# bench and examples may always; CLI11 is the exception, for what it costs to compile).
THIRD_PARTY = {
    "hwy": [KERNELS, "trainer/kernels"],
    "flatbuffers": [PROGRAM, "exporter/program", "exporter/tflite"],
    "vulkan": ["runtime/backend/vulkan"],
    "google": ["exporter/onnx"],
    "onnx": ["exporter/onnx"],
    "fmt": ["graph", "trainer", "quantize", "exporter", "tools"],
    "nlohmann": ["graph", "trainer", "quantize", "exporter", "tools"],
    "sodium.h": ["sign"],
    "mpi.h": ["trainer/distributed/mpi"],
    "zlib.h": ["trainer/data"],
    "archive.h": ["trainer/data"],
    "png.h": ["trainer/data"],
    "stb": ["trainer/data"],
    "valijson": ["tools/submission"],
    "httplib.h": ["tools/serve"],
    "CLI": ["tools/wick/command_line.cc"],
}

# The runtime ships to devices: nothing that throws, allocates on its own or drags in a stream.
RUNTIME_FORBIDDEN = set(
    "any chrono condition_variable deque exception filesystem format forward_list fstream "
    "functional future iomanip iostream istream list locale map memory_resource mutex ostream "
    "queue random regex semaphore set shared_mutex sstream stack stdexcept stop_token streambuf string "
    "thread typeinfo unordered_map unordered_set vector".split())

# All that a program gets with the runtime's public header: what users call, and what that is made of. For other types a
# forward declaration is enough ("class Backend;"); code that needs more includes the header itself.
RUNTIME_HEADER = "runtime/include/wick/runtime.h"
SHOWN = {
    RUNTIME_HEADER,
    "runtime/backend/explain.h",
    "runtime/core/allocator.h",
    "runtime/core/arena.h",
    "runtime/core/dtype.h",
    "runtime/core/edition.h",
    "runtime/core/function_ref.h",
    "runtime/core/lent_bytes.h",
    "runtime/core/owned.h",
    "runtime/core/packed_sequence.h",
    "runtime/core/shape.h",
    "runtime/core/span.h",
    "runtime/core/status.h",
    "runtime/core/stop.h",
    "runtime/core/string_ref.h",
    "runtime/core/tensor_view.h",
    "runtime/core/thread_pool.h",
    "runtime/core/trace.h",
    "runtime/exec/recurrent_state.h",
    "runtime/exec/session.h",
    "runtime/exec/session_pool.h",
    "runtime/ops/op_library.h",
    "runtime/program/layout.h",
    "runtime/program/program.h",
}

WITH_HEADERS = ("runtime", "trainer", "trainer/distributed", "quantize", "exporter", "tools/lib")  # rooms with an include/ folder
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SOURCE = re.compile(r"\.(h|cc|cpp|c|def|inc)$")
SKIP_FOLDERS = {".git", "build", "docs"}


def room_of(path):
    """The longest room that holds `path` ("" if none does)."""
    best = ""
    for room in SEES:
        if (path == room or path.startswith(room + "/")) and len(room) > len(best):
            best = room
    return best


def allowed(room, target):
    sees = SEES[room]
    # A room implements the public headers of its own include/ folder.
    return sees == EVERYTHING or target == room or target in sees or target == room + "/include"


def cycle():
    """A room of the top level that sees itself through others, as "a -> b -> a"; "" if none does."""
    tops = {}
    for room, sees in SEES.items():
        if sees != EVERYTHING:
            tops.setdefault(room.split("/")[0], set()).update(s.split("/")[0] for s in sees)

    def walk(path):
        for top in sorted(tops.get(path[-1], set()) - {path[-1]}):
            if top in path:
                return " -> ".join(path[path.index(top):] + [top])
            found = walk(path + [top])
            if found:
                return found
        return ""

    return next(filter(None, (walk([top]) for top in sorted(tops))), "")


def resolve(root, path, include):
    """Repository path of a quoted include, or None. Public headers are found through include/."""
    candidates = [include]
    candidates += [f"{room}/include/{include}" for room in WITH_HEADERS]
    for candidate in candidates:
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    stem = re.match(r"(.*)_generated\.h$", include)
    if stem and os.path.isfile(os.path.join(root, stem.group(1) + ".fbs")):
        return include
    # Made at build time by the nearest CMakeLists (x.pb.h from x.proto, embedded shaders).
    folder = os.path.dirname(path)
    while folder and not os.path.isfile(os.path.join(root, folder, "CMakeLists.txt")):
        folder = os.path.dirname(folder)
    listing = os.path.join(root, folder, "CMakeLists.txt")
    if "." in include and "/" not in include and os.path.isfile(listing):
        with open(listing, encoding="utf-8") as f:
            text = f.read()
        if include in text or include.replace(".pb.h", ".proto") in text:
            return os.path.join(folder, include)
    return None


def includes(root, path):
    """(kind, include, "path:line") of every #include of a file."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        text = f.read()
    for match in INCLUDE.finditer(text):
        yield *match.groups(), f"{path}:{text.count(chr(10), 0, match.start(2)) + 1}"


def check_file(root, path):
    room = room_of(path)
    if not room:
        return []
    problems = []
    for kind, include, where in includes(root, path):
        top = include.split("/")[0]
        if SEES[room] == EVERYTHING and top != "CLI":
            continue
        if re.match(f"({'|'.join(WITH_HEADERS)})/include/", include):
            problems.append(f'{where}: write "{include.split("/include/")[1]}": the installed package has no '
                            "other path for it")
            continue
        if top in THIRD_PARTY:
            homes = THIRD_PARTY[top]
            if path not in homes and not any(path.startswith(home + "/") for home in homes):
                problems.append(f"{where}: {room} may not include <{include}>; its place is "
                                f"{', '.join(homes)}")
            continue
        target = resolve(root, path, include)
        if target is None:
            if kind == '"':
                problems.append(f'{where}: "{include}" is not a file of this repository '
                                "(paths start at its root)")
            elif room.startswith("runtime") and room not in (ERROR, GUARD, REGISTRY) and include in RUNTIME_FORBIDDEN:
                problems.append(f"{where}: runtime may not include <{include}> (no containers, streams, "
                                "threads or throwing types below the line)")
            continue
        target_room = room_of(target)
        if not allowed(room, target_room):
            sees = ", ".join(SEES[room]) or "nothing"
            problems.append(f'{where}: upward include of "{include}": {room} sees {sees}, not {target_room}')
    return problems


def check_shown(root):
    """What wick/runtime.h reaches beyond SHOWN, at the #include that brings it in, and what it reaches no more."""
    if not os.path.isfile(os.path.join(root, RUNTIME_HEADER)):
        return []
    problems, reached, left = [], {RUNTIME_HEADER}, [RUNTIME_HEADER]
    while left:
        for _, include, where in includes(root, left.pop()):
            target = resolve(root, RUNTIME_HEADER, include)
            if target is None or target in reached:
                continue
            reached.add(target)
            if target in SHOWN:
                left.append(target)
            else:
                problems.append(f'{where}: "{include}" would come to every user of wick/runtime.h, which shows '
                                f"{len(SHOWN)} headers: declare what is needed of it, or add it to SHOWN of "
                                "tests/layers/check_includes.py if users call it")
    for path in sorted(SHOWN - reached):
        if os.path.isfile(os.path.join(root, path)):
            problems.append(f"{RUNTIME_HEADER}:1: does not reach {path} any more: take it out of SHOWN")
    return problems


def check_tree(root):
    problems, files = check_shown(root), 0
    if cycle():
        problems.append(f"the rooms' arrows go round: {cycle()}")
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(d for d in folders
                            if d not in SKIP_FOLDERS and not d.startswith((".", "build")))
        for name in sorted(names):
            if SOURCE.search(name):
                files += 1
                problems += check_file(root, os.path.relpath(os.path.join(folder, name), root))
    return problems, files


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    problems, files = check_tree(os.path.abspath(root))
    for problem in problems:
        print(problem)
    print(f"{files} files read, {len(problems)} includes against the arrows")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
