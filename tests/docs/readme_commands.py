#!/usr/bin/env python3
"""Runs the README's commands as they are typed, in their order, in a folder of their own.

usage: readme_commands.py BUILD_FOLDER

`make install` stands for its last step, an installation of BUILD_FOLDER (building belongs to no test), `build/release`
is that folder, and other `make` lines are only looked up in the Makefile. In the fixed subset Fashion-MNIST is its first
2,000 and 500 images; with WICK_TEST_FULL=1 it is whole. Every program that the README or docs/figures.md names below
build/release must be there, what lenet_static prints must be what `wick run` computes, and the README must say where image.npy comes from.
"""

import gzip
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FULL = os.environ.get("WICK_TEST_FULL") is not None
passed = failed = 0


def check(text, good, shown=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAILED: {text}\n{shown[-3000:]}")
    return good


def commands(page):
    """The lines of the page's shell blocks: those without a language."""
    lines = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", page, re.M | re.S):
        if language == "":
            lines += [re.sub(r"\s+#.*", "", line) for line in block.splitlines() if not line.lstrip().startswith("#")]
    return [line.strip() for line in lines if line.strip()]


def fashion_mnist():
    for folder in (os.path.join(os.environ.get("WICK_DATA", "/nowhere"), "fashion-mnist"),
                   "/usr/share/datasets/fashion-mnist"):
        if os.path.isdir(folder):
            return folder
    return None


def first_images(source, to):
    """The first 2,000 and 500 images and labels, as IDX files."""
    os.makedirs(to)
    for part, count in (("train", 2000), ("t10k", 500)):
        for kind, size in (("images-idx3", 16), ("labels-idx1", 8)):
            name = f"{part}-{kind}-ubyte"
            path = os.path.join(source, name)
            with (open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz")) as f:
                head = f.read(size)
                item = 784 if kind == "images-idx3" else 1
                with open(os.path.join(to, name), "wb") as g:
                    g.write(head[:4] + struct.pack(">I", count) + head[8:] + f.read(count * item))


def logits(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<H", data[8:10])[0]
    return struct.unpack("<10f", data[10 + size:])


def main():
    build = os.path.realpath(sys.argv[1])
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        page = f.read()
    with open(os.path.join(ROOT, "docs", "figures.md"), encoding="utf-8") as f:
        named = page + f.read()
    source = fashion_mnist()
    if source is None:
        print("SKIP: Fashion-MNIST not installed")
        return 77

    # The programs that the pages run from a build are those that `make` builds.
    benches = os.path.isdir(os.path.join(build, "bench"))  # else this build was configured without them
    for path in sorted(set(re.findall(r"build/release/([\w./]*\w)", named))):
        if path.startswith("bench") and not benches:
            continue
        check(f"a page names build/release/{path}, which is not built", os.path.exists(os.path.join(build, path)))
    folder = re.search(r"((?:`\w+ [^`]*`, )*`\w+ [^`]*`) in `build/release/bench`", named)
    for name in re.findall(r"`(\w+)", folder.group(1)) if folder and benches else []:
        check(f"a page names the bench {name}, which is not built", os.path.exists(os.path.join(build, "bench", name)))
    makefile = open(os.path.join(ROOT, "Makefile"), encoding="utf-8").read()

    with tempfile.TemporaryDirectory() as work:
        work = os.path.join(work, "a clone")  # nothing may depend on a path without a space
        os.makedirs(os.path.join(work, "build"))
        os.symlink(build, os.path.join(work, "build", "release"))
        environment = dict(os.environ, HOME=os.path.join(work, "home"))
        os.makedirs(environment["HOME"])
        # No other program of that name is found before the installed one, and none after it.
        environment["PATH"] = os.pathsep.join(
            p for p in environment["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(p, "wick")))
        if not FULL:
            first_images(source, os.path.join(work, "data", "fashion-mnist"))
            environment["WICK_DATA"] = os.path.join(work, "data")
        script, lines = ["set -e"], commands(page)
        for line in lines:
            words = line.split()
            if words[0] != "make":
                script += ["echo " + shlex.quote("$ " + line) + " >&3", line]
                continue
            goal = words[1] if len(words) > 1 else "all"
            check(f"README says `{line}`, and the Makefile has no {goal}", re.search(rf"^{goal}:", makefile, re.M))
            if goal == "install":
                prefix = next((w[7:] for w in words if w.startswith("PREFIX=")), None)
                if check(f"`{line}` says no PREFIX", prefix):
                    script += [f'cmake --install "{build}" --prefix "{prefix}" >install.log']
        check("README has no command that writes image.npy", re.search(r"^wick data .* -o image.npy", page, re.M))
        check("README does not run lenet_static and alloc_free_run",
              any("/lenet_static " in line for line in lines) and any("/alloc_free_run " in line for line in lines))
        script += ["wick run lenet.wick --input image.npy -o told >/dev/null",
                   "build/release/examples/lenet_static/lenet_static lenet.wick image.npy >static.txt"]
        start = time.time()
        with open(os.path.join(work, "trace"), "w+", encoding="utf-8") as trace:
            done = subprocess.run(["bash", "-c", "exec 3>trace\n" + "\n".join(script)], cwd=work, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            trace.seek(0)
            ran = trace.read()
        print(f"COUNT: README: {len(lines)} commands, {time.time() - start:.0f} s")
        asked = re.findall(r"^\$ (.*)$", ran, re.M)
        if check(f"a command of the README fails (exit {done.returncode}): {asked[-1] if asked else 'the installation'}",
                 done.returncode == 0, done.stdout[-1500:] + done.stderr):
            with open(os.path.join(work, "static.txt"), encoding="utf-8") as f:
                said = [struct.unpack("f", struct.pack("f", float(word)))[0] for word in f.read().split()]
            told = logits(os.path.join(work, "told", os.listdir(os.path.join(work, "told"))[0]))
            check("lenet_static computes other logits than wick run", list(told) == said, f"{told}\n{said}")
            check("not every command ran", len(asked) == sum(not line.startswith("make") for line in lines), ran)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
