#!/usr/bin/env python3
"""Links `wick` once more with a bug in it, beside a finished build and without touching the tree.

usage: planted.py BUILD PATCH OUT      OUT: the program; exit 2: the patch cannot be planted so

A copy of each file that the patch changes goes to OUT.d and is found before the tree's own. What was compiled
from it (ninja knows) is compiled again with the build's own commands, and these objects are linked in front of
the libraries, whose copies then count no more. The patches of tests/sabotage are such bugs. A patch of what is
generated (shaders, tables of CMake) cannot be planted.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys


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


def main():
    build, patch, out = (os.path.abspath(p) for p in sys.argv[1:4])
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    overlay = out + ".d"
    shutil.rmtree(overlay, ignore_errors=True)
    with open(patch, encoding="utf-8") as f:
        files = re.findall(r"^diff --git a/(\S+)", f.read(), re.M)
    files = [f for f in files if not f.startswith(("tests/", "docs/"))]
    if not files or any(not f.endswith((".cc", ".h")) for f in files):
        fail("it changes what is no C++")
    for name in files:
        os.makedirs(os.path.join(overlay, os.path.dirname(name)), exist_ok=True)
        shutil.copy(os.path.join(root, name), os.path.join(overlay, name))
    done = subprocess.run(["git", "apply", "--no-index", "--exclude=tests/*", "--exclude=docs/*", patch], cwd=overlay,
                          capture_output=True, text=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(overlay)})
    if done.returncode:
        fail(done.stderr.strip())

    link = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", "tools/wick/wick"], capture_output=True,
                          text=True, check=True).stdout.strip().splitlines()[-1]
    linked = set(re.findall(r"\S+/lib(\w+)\.a", link))
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    of_object = {re.search(r" -o (\S+)", c["command"]).group(1): c for c in commands}
    from_file = depends(build)
    changed = {os.path.join(root, f) for f in files}
    objects = []
    for target, sources in from_file.items():
        known = {os.path.normpath(os.path.join(build, s)) for s in sources}
        if not known & changed or target.endswith(".gch") or target not in of_object:
            continue
        if not (target.startswith("tools/wick/CMakeFiles/wick.dir/") or
                any(f"CMakeFiles/{lib}.dir/" in target or f"CMakeFiles/{lib}_" in target for lib in linked)):
            continue
        objects.append(target)
    if not objects:
        fail("nothing that wick links is compiled from it")

    made = []
    for k, target in enumerate(objects):
        entry = of_object[target]
        words = shlex.split(entry["command"])
        source = words[-1]
        if source in changed:
            source = os.path.join(overlay, os.path.relpath(source, root))
        elif "Unity" in source:  # it names the tree's files: take ours
            text = open(source, encoding="utf-8").read()
            for f in files:
                text = text.replace(os.path.join(root, f), os.path.join(overlay, f))
            source = os.path.join(overlay, f"unity_{k}.cc")
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
        words[-1] = source
        result = os.path.join(overlay, f"{k}.o")
        words[words.index("-o") + 1] = result
        for flag in ("-MF", "-MT"):
            if flag in words:
                words[words.index(flag) + 1] = result + ".d"
        if words[0].endswith("ccache"):
            words = words[1:]
        words[1:1] = [f"-I{overlay}"]
        compiled = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True)
        if compiled.returncode:
            fail(compiled.stderr[-2000:])
        made.append(result)

    own = [o for o in objects if o.startswith("tools/wick/")]
    words = shlex.split(link.split("&&")[1].strip() if "&&" in link else link)
    if words[0].endswith("ccache"):
        words = words[1:]
    words = [w for w in words if w not in own]
    words[words.index("-o") + 1] = out
    first = next(i for i, w in enumerate(words) if w.endswith(".o"))
    words[first:first] = ["-Wl,--allow-multiple-definition"] + made
    linking = subprocess.run(words, cwd=build, capture_output=True, text=True)
    if linking.returncode:
        fail(linking.stderr[-2000:])
    print(f"planted: {len(made)} objects")
    return 0


if __name__ == "__main__":
    sys.exit(main())
