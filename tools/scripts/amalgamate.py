#!/usr/bin/env python3
"""Writes the runtime with the kernels of a model as one source file: amalgamate.py [MODEL.wick | OP[:simd|...]]... -o FOLDER

FOLDER/wick.h is the C interface, FOLDER/wick.cc all that it takes; Highway's and FlatBuffers' headers are the system's
(Debian: libhwy-dev, libflatbuffers-dev), or copied beside them with --headers. No CMake, no library:

    g++ -std=c++20 -O2 wick.cc main.c -o app

Which sources are needed is read from a build of the runtime (--build, build/release): the objects that a linker would take for
wick.h and the selected kernels. They become one file in two steps. Highway compiles a file once for each vector target by
including it again: all kernels share one such round, so wick.cc includes itself. And names that are local to one of the
sources, but not to the sum, get the source's number.

--wasm: for WebAssembly, where there are no files, threads or libraries to open (targets/wasm32).
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*$', re.M)

# As runtime/cmake/WickRuntime.cmake has it for the library.
HEAD = """// The runtime of Wick @VERSION@ with the kernels of: @OPS@. Written by tools/scripts/amalgamate.py.
//
//   g++ -std=c++20 -O2 wick.cc main.c -o app
//
// The file includes itself once for each vector target. Nothing may be fused that the sources do not fuse: answers are the
// library's to the bit.
#ifndef WICK_AMALGAMATED
#define WICK_AMALGAMATED
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#if defined(__FAST_MATH__)
#error "compile wick.cc without -ffast-math: its answers would be other numbers"
#endif
@SYSTEM@#ifndef NDEBUG // as the library that ships: what it asserts needs sources that it does not
#define NDEBUG
#endif
#define FLATBUFFERS_MAX_ALIGNMENT 64
#define HWY_WANT_AVX3_DL
#if defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#elif defined(__x86_64__) || defined(__i386__) || defined(__wasm__)
#define HWY_DISABLED_TARGETS HWY_SSSE3
#else
#define HWY_COMPILE_ONLY_SCALAR
#endif
"""


# As runtime/cmake/WickPlatform.cmake has it for a target without these parts.
WITHOUT = "".join(f"#define WICK_HAS_{part} 0\n" for part in ("FILES", "LIBRARIES", "THREADS"))

# Names of the standard library, which any source that uses it may define.
STANDARD = re.compile(r"_Z(?:TV|TI|TS|GV)?N?K?S[tabsiod]")

# A page waits for all of the code, and nothing waits for what runs once: with clang's -Os this becomes -Oz.
SMALLEST = "#pragma clang attribute push(__attribute__((minsize)), apply_to = function)\n"


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Tree:
    """The files that sources include by name: the tree's, and those that its build generated."""

    def __init__(self, build):
        self.folders = [ROOT, ROOT / "runtime/include", build / "runtime/generated"]

    def find(self, name):
        for folder in self.folders:
            if (folder / name).is_file():
                return folder / name
        return None


def needed_sources(build, selected):
    """The sources of the objects that a linker takes for wick.h and the file `selected`, in the library's order."""
    folder = build / "runtime/CMakeFiles/wick_runtime_objects.dir"
    objects = sorted(folder.rglob("*.cc.o"))
    if not objects:
        sys.exit(f"{build}: the runtime is not built there: cmake --build {build} --target wick_runtime wick_select_ops")
    defines, undefined = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        own = pathlib.Path(scratch) / "selected.o"
        run("g++", "-std=c++20", "-fno-exceptions", "-fno-rtti", "-c", selected, "-o", own, f"-I{ROOT}", f"-I{ROOT / 'runtime/include'}")
        for each in [own, *objects]:
            undefined[each] = set()
            for line in run("nm", each).splitlines():
                kind, name = line.split()[-2:]
                if kind == "U":
                    undefined[each].add(name)
                elif (kind.isupper() or kind == "u") and not STANDARD.match(name): # weak ones too: explicit instantiations
                    defines.setdefault(name, each)
    header = (ROOT / "runtime/include/wick/wick.h").read_text()
    wanted = set(re.findall(r"\b(wick_[a-z0-9_]+)\(", header))
    todo = [own, *{defines[name] for name in wanted if name in defines}]
    taken = set(todo)
    while todo:
        for name in undefined[todo.pop()]:
            other = defines.get(name)
            if other is not None and other not in taken:
                taken.add(other)
                todo.append(other)
    return [ROOT / "runtime" / each.relative_to(folder).with_suffix("") for each in objects if each in taken]


def of_wasm(source):
    """The source of the same part of the system for WebAssembly, which has POSIX's clock alone (runtime/platform)."""
    other = source.parent.parent / "none" / source.name
    return other if source.parent.name == "posix" and source.name != "clock.cc" else source


# What clang-format leaves in the first column: a declaration of the name space that is open there.
DECLARED = re.compile(
    r"^(?:(?:struct|class|union|enum(?: class)?)\s+(?:alignas\([^)]*\)\s+)?(\w+)\s*(?:final\b[^;{]*)?[:{]"  # a type
    r"|using\s+(\w+)\s*="
    r"|(?!using|namespace|return|typedef|struct\s+\w+;|#|//|template|friend|extern|WICK_|HWY_)"
    r"(?:[\w:<>,*&\s\[\]]|\([^()]*\)(?=\s*[\w(*]))*?[\s*&](?!const\b|operator\b|void\b)(\w+)\s*(?:\(|=|\{|;|\[))")


def blank(text):
    """The text with spaces for its comments and literals."""
    literal = r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'(?=[^\w])"""
    return re.sub(literal, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def declarations(text):
    """(name, whether it is local) of what `text` declares in name spaces: local to the file, or to a vector target."""
    spaces, depth = [], 0
    lines = blank(text).split("\n")
    for i, line in enumerate(lines):
        opened = re.match(r"namespace(?:\s+([\w:]+))?\s*\{", line)
        if opened:
            spaces.append((opened.group(1) or "", depth))
        elif re.match(r"\w", line):
            joined = line if re.search(r"[({=;]", line) else line + " " + (lines[i + 1] if i + 1 < len(lines) else "")
            declared = DECLARED.match(joined)
            if declared:
                local = any(name in ("", "HWY_NAMESPACE") for name, _ in spaces) or line.startswith("static ")
                yield next(g for g in declared.groups() if g), local
                if joined.startswith("constexpr"):
                    yield from ((more, local) for more in re.findall(r",\s*\*?(\w+) =", joined))
        depth += line.count("{") - line.count("}")
        while spaces and depth <= spaces[-1][1]:
            spaces.pop()


def rename(text, names, suffix):
    """The names with a suffix, but not where they are members: behind a dot, or within the type that has such a member."""

    def put(line, some):
        if not some or line.lstrip().startswith("#include"):
            return line
        pattern = re.compile(r"(?<![\w.])(?<!->)(?<!::)(" + "|".join(sorted(some)) + r")\b")
        parts = re.split(r'("(?:\\.|[^"\\\n])*"|//.*)', line)
        return "".join(p if i % 2 else pattern.sub(r"\1" + suffix, p) for i, p in enumerate(parts))

    out, members, lines = [], set(), text.split("\n")
    for i, line in enumerate(lines):
        if re.match(r"(struct|class|union)\s[^;]*$", line):
            rest = lines[i + 1:]
            inner = "\n".join(rest[:next((k for k, each in enumerate(rest) if each.startswith("}")), 0)])
            member = r"^  [\w:<>,*& \[\]()]*[ *&]%s\s*[;=({,\[]"
            members = {n for n in names if re.search(member % n, inner, re.M)}
        elif line.startswith("}"):
            members = set()
        out.append(put(line, names - members))
    return "\n".join(out)


class Writer:
    def __init__(self, tree):
        self.tree, self.done = tree, set()

    def plain_headers(self, path, out):
        """Headers that `path` includes, each before what includes it."""
        for name in INCLUDE.findall(path.read_text()):
            found = self.tree.find(name)
            if found is None or found in self.done:
                continue
            if found.suffix in (".def", ".inc"):
                continue # part of whoever includes it
            if found.name.endswith("-inl.h"):
                self.plain_headers(found, out)
                continue
            self.done.add(found)
            self.plain_headers(found, out)
            out.append(f"\n// {found.name}\n" + self.body(found))

    def body(self, path, text=None):
        """The text without what stands above it; -inl.h files and lists of rows in place."""

        def put(match):
            name = match.group(1)
            if name == "hwy/foreach_target.h":
                return ""
            found = self.tree.find(name)
            if found is None:
                return match.group()
            if found.suffix in (".def", ".inc"):
                return found.read_text()
            if not found.name.endswith("-inl.h") or found in self.done:
                return ""
            if re.search(r"HWY_TARGET_TOGGLE|^#pragma once|^#ifndef \w+_H_", found.read_text(), re.M):
                self.done.add(found) # the others are parts of several files
            return self.body(found)

        # The sum is no header.
        return re.sub(r"^#pragma once\n", "", INCLUDE.sub(put, path.read_text() if text is None else text), flags=re.M)


def foreach_target():
    """Highway's own, which would look for this file beside itself."""
    path = pathlib.Path("/usr/include/hwy/foreach_target.h")
    text = path.read_text()
    return text.replace("#include HWY_TARGET_INCLUDE", '#include "wick.cc"').replace(
        "#ifndef HIGHWAY_HWY_FOREACH_TARGET_H_", "#ifndef HIGHWAY_HWY_FOREACH_TARGET_H_\n#define HWY_TARGET_INCLUDE \"wick.cc\"")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="+", metavar="MODEL.wick|OP")
    parser.add_argument("-o", "--out", required=True, type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--headers", action="store_true", help="copy Highway's and FlatBuffers' headers beside wick.cc")
    parser.add_argument("--wasm", action="store_true", help="for WebAssembly: without files, threads and libraries")
    asked = parser.parse_args()
    build = asked.build.resolve()
    asked.out.mkdir(parents=True, exist_ok=True)
    tree = Tree(build)
    with tempfile.TemporaryDirectory() as scratch:
        selected = pathlib.Path(scratch) / "selected_ops.cc"
        run(build / "runtime/select/wick_select_ops", *asked.what, "-o", selected)
        sources = needed_sources(build, selected)
        selection = selected.read_text()
    if asked.wasm:
        sources = [of_wasm(each) for each in sources]

    writer = Writer(tree)
    headers = []
    pseudo = ROOT / "runtime/kernels/selected_ops.h"
    for source in [*sources, pseudo]:
        writer.plain_headers(source, headers)
    writer.done.add(pseudo)
    texts = {source: source.read_text() for source in sources}
    # A name of one source that any other file declares as well.
    declared_by = {}
    for source, text in texts.items():
        for name, _ in declarations(text):
            declared_by.setdefault(name, set()).add(source)
    inl = {tree.find(n) for t in texts.values() for n in INCLUDE.findall(t) if n.endswith("-inl.h")}
    shared = {name for t in [*headers, *(i.read_text() for i in inl)] for name, _ in declarations(t)}
    macros = {}
    for source, text in texts.items():
        for name in set(re.findall(r"^#define (\w+)", text, re.M)):
            macros.setdefault(name, set()).add(source)

    parts = []
    for number, source in enumerate(sources):
        text = texts[source]
        names = {n for n, local in declarations(text) if local and (len(declared_by[n]) > 1 or n in shared)}
        simd = "hwy/foreach_target.h" in text
        text = re.sub(r"^#(undef|define) (HWY_TARGET_INCLUDE|HWY_WANT_AVX3_DL).*\n", "", text, flags=re.M)
        text = writer.body(source, rename(text, names, f"_{number}"))
        if source.name == "rule.cc":
            text = '#pragma GCC push_options\n#pragma GCC optimize("wrapv")\n' + text + "\n#pragma GCC pop_options\n"
        text += "".join(f"\n#undef {n}" for n in sorted(macros) if source in macros[n] and len(macros[n]) > 1
                        and n not in ("HWY_TARGET_INCLUDE", "HWY_WANT_AVX3_DL"))
        name = source.relative_to(ROOT)
        if asked.wasm and not simd and not {"conv", "gemm", "blocked", "bytes", "window", "elementwise"} & set(name.parts):
            text = SMALLEST + text + "\n#pragma clang attribute pop"
        parts.append(f"\n// {name}\n{text}\n" if simd else f"\n// {name}\n#if HWY_ONCE\n{text}\n#endif  // HWY_ONCE\n")
    parts.append("\n// The kernels of this program.\n#if HWY_ONCE\n" +
                 writer.body(pseudo, selection.replace('#include "runtime/kernels/selected_ops.h"', pseudo.read_text())) +
                 "\n#endif  // HWY_ONCE\n")

    ops = ", ".join(re.findall(r"^ +X\((\w+), [^)]*\)", selection, re.M))
    version = re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()[30:]).group(1)
    text = HEAD.replace("@VERSION@", version).replace("@OPS@", ops).replace("@SYSTEM@", WITHOUT if asked.wasm else "") + "".join(headers) + "\n#endif  // WICK_AMALGAMATED\n\n"
    text += foreach_target() + '\n#include "hwy/highway.h"\n' + "".join(parts)
    (asked.out / "wick.cc").write_text(text)
    shutil.copy(ROOT / "runtime/include/wick/wick.h", asked.out / "wick.h")
    if asked.headers:
        for name in ("hwy", "flatbuffers"):
            shutil.copytree(f"/usr/include/{name}", asked.out / name, dirs_exist_ok=True)
    print(f"{asked.out}/wick.cc: {len(sources)} sources, {text.count(chr(10))} lines; {ops}")


if __name__ == "__main__":
    main()
