#!/usr/bin/env python3
"""Links `wick` once more with a bug in it, beside a finished build and without touching the tree.

usage: planted.py BUILD PATCH OUT      OUT: the program; exit 2: the patch cannot be planted so
       planted.py --applies PATCH...   tells which patches no longer fit the tree

A copy of each file that the patch changes goes to OUT.d and is found before the tree's own. What was compiled
from it (ninja knows) is compiled again with the build's own commands, and these objects are linked in front of
the libraries, whose copies then count no more. A break of tests/sabotage is such a bug, as breaks.py shows it. Shaders
are made again with the build's commands, those that include a changed file too.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHADERS = "runtime/backend/vulkan/shaders"


def fail(why):
    print(f"planted: {why}", file=sys.stderr)
    sys.exit(2)


def depends(build):
    """{object: what it was compiled from} by ninja's log."""
    out, of = {}, None
    log = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    for line in log.splitlines():
        if line.startswith(" "):
            out[of].append(line.strip())
        elif ": #deps" in line:
            of = line.split(": #deps")[0]
            out[of] = []
    return out


class Planted:
    """A copy of each file that the patch changes, and what is compiled from it."""

    def __init__(self, build, patch, out):
        self.build, self.out, self.overlay = build, out, out + ".d"
        shutil.rmtree(self.overlay, ignore_errors=True)
        with open(patch, encoding="utf-8") as f:
            files = re.findall(r"^diff --git a/(\S+)", f.read(), re.M)
        self.files = [f for f in files if not f.startswith(("tests/", "docs/"))]
        if not self.files or any(not f.endswith((".cc", ".h", ".comp", ".glsl")) for f in self.files):
            fail("it changes what is neither C++ nor a shader")
        if any(f.startswith(SHADERS) for f in self.files):
            shutil.copytree(os.path.join(ROOT, SHADERS), os.path.join(self.overlay, SHADERS))
        for name in self.files:
            os.makedirs(os.path.join(self.overlay, os.path.dirname(name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.overlay, name))
        done = subprocess.run(["git", "apply", "--no-index", "--exclude=tests/*", "--exclude=docs/*", patch],
                              cwd=self.overlay, capture_output=True, text=True, check=False,
                              env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(self.overlay)})
        if done.returncode:
            fail(done.stderr.strip())

    def read_build(self):
        """What the program is linked of, and how each object is compiled."""
        self.link = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "-s", "tools/wick/wick"],
                                   capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]
        linked = set(re.findall(r"\S+/lib(\w+)\.a", self.link))
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as f:
            commands = json.load(f)
        of_object = {re.search(r" -o (\S+)", c["command"]).group(1): c for c in commands}
        self.commands = {
            target: command for target, command in of_object.items()
            if target.startswith("tools/wick/CMakeFiles/wick.dir/") or
            any(f"CMakeFiles/{lib}.dir/" in target or f"CMakeFiles/{lib}_" in target for lib in linked)}

    def objects(self):
        changed = {os.path.join(ROOT, f) for f in self.files}
        out = []
        for target, sources in depends(self.build).items():
            known = {os.path.normpath(os.path.join(self.build, s)) for s in sources}
            if known & changed and not target.endswith(".gch") and target in self.commands:
                out.append(target)
        return out

    def shaders(self):
        """The SPIR-V of the shaders that changed, and the table that names it: the object that holds them."""
        mine = os.path.join(self.overlay, SHADERS)
        changed = {os.path.basename(f) for f in self.files if f.startswith(SHADERS)}
        if not changed.isdisjoint(n for n in changed if n.endswith((".cc", ".h"))) or not changed:
            return []
        includes = {}
        for name in os.listdir(mine):
            with open(os.path.join(mine, name), encoding="utf-8") as f:
                includes[name] = set(re.findall(r'^#include "([^"]+)"', f.read(), re.M))

        def reads(name):
            return name in changed or any(reads(n) for n in includes.get(name, ()))
        spirv = os.path.join(self.build, SHADERS, "spirv")
        made = os.path.join(self.overlay, "spirv")
        os.makedirs(made)
        with open(os.path.join(spirv, "wick_shaders.inc"), encoding="utf-8") as f:
            table = f.read()
        with open(os.path.join(ROOT, SHADERS, "variants.def"), encoding="utf-8") as f:
            variants = re.findall(r"^WICK_SHADER\((\w+), (\w+),", f.read(), re.M)
        for name, source in variants:
            if not reads(source + ".comp"):
                continue
            text = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "-s",
                                   os.path.join(SHADERS, "spirv", name + ".inc")],
                                  capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]
            text = text.replace(spirv + "/", made + "/").replace(os.path.join(ROOT, SHADERS) + "/", mine + "/")
            done = subprocess.run(text, shell=True, cwd=self.build, capture_output=True, text=True, check=False)
            if done.returncode:
                fail(done.stderr[-2000:])
            table = table.replace(f'"{spirv}/{name}.inc"', f'"{made}/{name}.inc"')
        with open(os.path.join(made, "wick_shaders.inc"), "w", encoding="utf-8") as f:
            f.write(table)
        return [t for t in self.commands if t.endswith("shaders/shaders.cc.o")]

    def compile(self, target, result):
        entry = self.commands[target]
        words = shlex.split(entry["command"])
        source = words[-1]
        if source in {os.path.join(ROOT, f) for f in self.files}:
            source = os.path.join(self.overlay, os.path.relpath(source, ROOT))
        elif "Unity" in source:  # it names the tree's files: take ours
            with open(source, encoding="utf-8") as f:
                text = f.read()
            for f in self.files:
                text = text.replace(os.path.join(ROOT, f), os.path.join(self.overlay, f))
            source = result + ".unity.cc"
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
        words[-1] = source
        words[words.index("-o") + 1] = result
        for flag in ("-MF", "-MT"):
            if flag in words:
                words[words.index(flag) + 1] = result + ".d"
        if words[0].endswith("ccache"):
            words = words[1:]
        words[1:1] = [f"-I{self.overlay}", f"-I{self.overlay}/spirv"]
        compiled = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True, check=False)
        if compiled.returncode:
            fail(compiled.stderr[-2000:])

    def program(self):
        objects = self.objects()
        objects += [o for o in self.shaders() if o not in objects]
        if not objects:
            fail("nothing that wick links is compiled from it")
        made = []
        for k, target in enumerate(objects):
            made.append(os.path.join(self.overlay, f"{k}.o"))
            self.compile(target, made[-1])
        own = [o for o in objects if o.startswith("tools/wick/")]
        words = shlex.split(self.link.split("&&")[1].strip() if "&&" in self.link else self.link)
        if words[0].endswith("ccache"):
            words = words[1:]
        words = [w for w in words if w not in own]
        words[words.index("-o") + 1] = self.out
        first = next(i for i, w in enumerate(words) if w.endswith(".o"))
        words[first:first] = ["-Wl,--allow-multiple-definition"] + made
        linking = subprocess.run(words, cwd=self.build, capture_output=True, text=True, check=False)
        if linking.returncode:
            fail(linking.stderr[-2000:])
        return len(made)


def applies(patches):
    stale = 0
    for patch in patches:
        with tempfile.TemporaryDirectory() as folder:
            try:
                Planted(folder, patch, os.path.join(folder, "out"))
            except SystemExit:
                stale += 1
                print(f"{patch}: it does not apply, or changes no code", file=sys.stderr)
    print(f"{len(patches) - stale} patches apply, {stale} do not")
    return stale > 0 or not patches


def main():
    if sys.argv[1] == "--applies":
        return applies([os.path.abspath(p) for p in sys.argv[2:]])
    planted = Planted(*(os.path.abspath(p) for p in sys.argv[1:4]))
    planted.read_build()
    print(f"planted: {planted.program()} objects")
    shutil.rmtree(planted.overlay)
    return 0


if __name__ == "__main__":
    sys.exit(main())
