#!/usr/bin/env python3
"""broken_rows.py COMPILER: rows of exporter/onnx/operators that must not compile, each beside one that must."""

import subprocess
import sys
import tempfile

HEAD = """#include "exporter/onnx/operators/rows.h"
namespace wick::onnx {
void read_onnx_A(ReadCtx&);
void read_onnx_B(ReadCtx&);
#define WICK_ONNX(Name, since, inputs, attributes, ...) \\
  Row{#Name, since, inputs, attributes, {__VA_ARGS__}, read_onnx_##Name},
constexpr Row kRows[] = {
%s
};
constexpr auto kAll = complete(kRows);
}  // namespace wick::onnx
"""
FIRST = 'WICK_ONNX(A, 1, "rr:float13 o:i64|seq V:all25", "axis:i mode:s!", "T[2]", "axis=1", 2)\n'
GOOD = FIRST + 'WICK_ONNX(A, 7, same, "axis:i", same)\nWICK_ONNX(B, 1, "", "", no_tensors)'
BROKEN = {
    "a type that there is not": 'WICK_ONNX(A, 1, "r:f33", "", "T[2]")',
    "an input that is neither required nor optional": 'WICK_ONNX(A, 1, "x:f32", "", "T[2]")',
    "an input behind the last": 'WICK_ONNX(A, 1, "Vr:f32", "", "T[2]")',
    "an attribute without a type": 'WICK_ONNX(A, 1, "r:f32", "axis", "T[2]")',
    "an attribute of a type that there is not": 'WICK_ONNX(A, 1, "r:f32", "axis:x", "T[2]")',
    "attributes out of order": 'WICK_ONNX(A, 1, "r:f32", "mode:s axis:i", "T[2]")',
    "no example": 'WICK_ONNX(A, 1, "r:f32", "")',
    "no attributes": 'WICK_ONNX(A, 1, "r:f32")',
    "no row above": 'WICK_ONNX(A, 1, "r:f32", same, "T[2]")',
    "the row of another operator above": FIRST + 'WICK_ONNX(B, 1, same, "", "T[2]")',
    "versions out of order": 'WICK_ONNX(A, 7, "r:f32", "", "T[2]")\nWICK_ONNX(A, 1, "r:f32", "", "T[2]")',
    "names out of order": 'WICK_ONNX(B, 1, "r:f32", "", "T[2]")\nWICK_ONNX(A, 1, "r:f32", "", "T[2]")',
    "a reader that nobody declared": 'WICK_ONNX(C, 1, "r:f32", "", "T[2]")',
}


def compiles(compiler, rows):
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as f:
        f.write(HEAD % rows)
        f.flush()
        run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I.", "-Iruntime/include", f.name],
                             capture_output=True, text=True)
        return run.returncode == 0, run.stderr


def main():
    failed = 0
    good, why = compiles(sys.argv[1], GOOD)
    if not good:
        failed += 1
        print("rows as they should be do not compile:", why[:2000])
    for what, rows in BROKEN.items():
        if compiles(sys.argv[1], rows)[0]:
            failed += 1
            print(f"{what}: it compiles")
    print(f"{1 + len(BROKEN) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
