#!/usr/bin/env python3
"""Every public function has a row: the functions that trainer/tensor/ops/*.h, trainer/tensor/philox.h and the
free functions of trainer/tensor/tensor.h declare, and the methods of Tensor that compute, against the names and
aliases of the function rows.

  check_functions.py TEST_FUNCTIONS   exit 0: all covered; 1: one line a function without a row
"""

import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Finds where a function's declaration starts, and its name. Results: tensors, lists, pairs and structs of them, bools.
RESULT = r"(?:inline |\[\[nodiscard\]\] |const )*(?:[A-Z]\w*|bool|DType|double|int64_t|std::(?:vector|pair|tuple|array)<[^;(){}]*>)&?"
DECLARED = re.compile(rf"^(?:template <[^>]*>\s*)?{RESULT}\s+(operator[^\s(]+|\w+)\(", re.M)
METHOD = re.compile(rf"^  {RESULT}\s+(operator[^\s(]+|\w+)\(", re.M)
LISTED = re.compile(r"^#define (WICK_\w+)\((\w+)\)((?:.*\\\n)*.*\n)", re.M)
# A list of functions: #define X(function, Name) Tensor function(const Arg& x);
USED = re.compile(r"^#define \w+\((\w+)(?:, [\w.]+)*\)\s*(?:\\\n\s*)?[^\n]*?(?:Tensor&?|>)\s+(\w+)(?:##(\w+))?\(", re.M)
# namespace linalg { ... }: its functions are linalg::name, in rows too.
NESTED = re.compile(r"^namespace (?:wick::)?(?!wick\b)(\w+) \{(.*?)^\}  // namespace (?:wick::)?\1", re.M | re.S)
# Not functions of values, each tested in tests/trainer: what a tensor is and whose bytes it has; values on the host;
# autograd's own; modes, generators, counters.
NOT_VALUES = set("""
    defined impl handle id is_same device is_cpu is_cuda is_meta is_quantized is_vulkan cpu vulkan layout dtype rank dim shape size numel strides is_contiguous raw raw_shape storage version
    named name is_floating_point stride nelement storage_offset is_view base set_ set_data copies_made
    data mutable_data item item_int to_vector to_string len begin end
    requires_grad requires_grad_ is_leaf grad set_grad backward detach detach_ grad_fn retains_grad is_inference
    register_hook register_post_accumulate_grad_hook
    grad_enabled inference_mode_enabled default_generator manual_seed get_rng_state philox
""".split())
# Namespaces of helpers that headers share.
NOT_PUBLIC = ("detail", "pointwise")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def macro_functions(text):
    """Names that X-macros declare: every list's first arguments, where the macro X makes functions."""
    names = set()
    lists = {}
    for name, parameter, body in LISTED.findall(text):
        lists[name] = re.findall(rf"\b{parameter}\(\s*(\w+)", body)
    for at in USED.finditer(text):
        argument, declared, suffix = at.groups()
        if declared != argument:
            continue
        for used in re.findall(r"^(WICK_\w+)\(\w+\)$", text[at.end():at.end() + 400], re.M):
            names |= {n + (suffix or "") for n in lists.get(used, [])}
    return names


def public_functions():
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "trainer/tensor/ops/*.h"))) + ["trainer/tensor/philox.h",
                                                                                     "trainer/tensor/tensor.h"]:
        path = os.path.relpath(os.path.join(ROOT, path), ROOT)
        text = read(path)
        for space, body in NESTED.findall(text):
            if space in NOT_PUBLIC:
                continue
            for name in DECLARED.findall(without_comments(body)):
                found.setdefault(f"{space}::{name}", path)
        text = without_comments(NESTED.sub("", text))
        for name in set(DECLARED.findall(text)) | macro_functions(text):
            found.setdefault(name, path)
    text = without_comments(read("trainer/tensor/tensor.h"))
    body = re.search(r"^class Tensor {(.*?)^ private:", text, re.M | re.S).group(1)
    for name in METHOD.findall(body):
        if not name.startswith("operator"):
            found.setdefault("Tensor." + name, "trainer/tensor/tensor.h")
    return {n: p for n, p in found.items() if n.split(".")[-1] not in NOT_VALUES}


def main():
    listed = subprocess.run([sys.argv[1], "--list"], check=True, capture_output=True, text=True).stdout
    rows = set(listed.split())
    functions = public_functions()
    missing = []
    for name, path in sorted(functions.items()):
        # a method is its free function's other spelling
        if name in rows or name.removeprefix("Tensor.") in rows or "Tensor." + name in rows:
            continue
        missing.append(f"{path}: {name} has no row in tests/functions")
    for line in missing:
        print(line)
    print(f"COUNT: public functions and methods: {len(functions)}, {len(missing)} without a row")
    return 1 if missing or len(functions) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
