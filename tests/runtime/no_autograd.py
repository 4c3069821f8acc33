#!/usr/bin/env python3
"""The runtime is built without autograd: its library, and a program made of it, neither define nor want a symbol of
the trainer, and no name of theirs speaks of a graph of gradients. The shape rules of the training ops are there (one
table of ops), their kernels are not.

usage: no_autograd.py RUNTIME.a TRAINER.a PROGRAM...
"""

import re
import subprocess
import sys

AUTOGRAD = re.compile(r"wick::(Tensor|TensorImpl|Storage|Node|GradFn|Engine|GradMode|NoGrad|TensorHooks|nn|optim)\b"
                      r"|autograd|backward|requires_grad|gradcheck|grad_fn|accumulate_grad|kTrainKernels", re.I)


def symbols(path, *flags):
    """(demangled name, type) of every symbol."""
    out = subprocess.run(["nm", "-C", *flags, path], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^[0-9a-f ]{16} (\w) (.+)$", out, re.M)
    return {(name, kind) for kind, name in found}


def main():
    runtime, trainer, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
    passed = failed = 0

    def check(text, bad):
        nonlocal passed, failed
        if bad:
            failed += 1
            print(f"FAILED: {text}: " + "; ".join(sorted(bad)[:5]) + (f" and {len(bad) - 5} more" if len(bad) > 5 else ""))
        else:
            passed += 1

    # Inline functions of headers that both include are weak in both.
    strong = {name for name, kind in symbols(trainer, "--defined-only") if kind in "TDBR"}
    spoken = {name for name in strong if AUTOGRAD.search(name)}
    check("the trainer's symbols were not found", set() if len(strong) > 1000 and len(spoken) > 300 else {trainer})
    for path in [runtime, *programs]:
        names = {name for name, _ in symbols(path)}
        check(f"{path} has symbols of the trainer", names & strong)
        check(f"{path} speaks of autograd", {name for name in names if AUTOGRAD.search(name)})
        check(f"{path} has no symbols", set() if len(names) > 100 else {path})
    print(f"{len(strong)} symbols of the trainer, {len(spoken)} of them autograd's")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
