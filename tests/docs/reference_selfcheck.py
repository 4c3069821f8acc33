#!/usr/bin/env python3
"""Plants one fault at a time in a small tree and requires check_reference.py to name it; the tree without one must pass."""

import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = os.path.join(ROOT, "tools", "scripts", "check_reference.py")
HEADER = "trainer/include/wick/small.h"

TREE = {
    HEADER: """// A header.
#pragma once

#include "trainer/own.h"

namespace wick {

// The name of a number.
using Number = double;

// Returns the larger of two.
Number larger(Number a, Number b);
Number larger(int a, int b);
// Return the absolute value, and its negative.
Number magnitude(Number a);
Number opposite(Number a);

// How a sum is taken.
enum class Order { kForward, kBackward };

// Options of a sum.
struct SumOptions {
  Order order = Order::kForward;  // of the addends
  double first = 0, step = 1;     // the addends: first, first + step ...
  // The number of addends.
  int count = 0;
};

// The base of sums.
class Sum {
 public:
  explicit Sum(SumOptions options);
  virtual ~Sum() = default;
  // Returns the value.
  virtual Number value() const { return Own().value; }

 private:
  SumOptions options_;
};

// A sum whose value is doubled.
class Twice : public Sum {
 public:
  Number value() const override;
};

#define WICK_WAVES(X) \\
  X(sine)   /* of radians */ \\
  X(cosine) /* of radians */
#define X(name) Number name(Number x);
WICK_WAVES(X)
#undef X

}  // namespace wick
""",
    "trainer/own.h": """// Another header.
#pragma once

namespace wick {

// What a sum has for itself.
struct Own {
  double value = 0;  // the value
};

}  // namespace wick
""",
    "docs/reference/main.dox": "/** \\mainpage Small */\n/** \\namespace wick\nSmall. */\n",
    "docs/reference/pytorch_names.txt": "# names\ntorch.max\ntorch.fft\n",
    "docs/reference/pytorch.md": """# Index

Now: 1 names have a counterpart, 1 have none.

## torch

1 of 2.

| PyTorch | Wick | |
|---|---|---|
| `torch.max` | `wick::larger` |  |
| `torch.fft` | - | `wick::sine` |
""",
}

# file, what is replaced (its first occurrence), by what, what the check must say
FAULTS = [
    (HEADER, "// Returns the larger of two.\n", "", ":11: wick::larger has no comment"),
    (HEADER, "// Returns the larger of two.", "// -- numbers: two of them", ":12: wick::larger has no comment"),
    (HEADER, "// Return the absolute value, and its negative.", "// Returns the absolute value.", "wick::opposite has no comment"),
    (HEADER, "// The name of a number.\n", "", ":8: wick::Number has no comment"),
    (HEADER, "// How a sum is taken.\n", "", "wick::Order::kBackward has no comment"),
    (HEADER, "// Options of a sum.\n", "", "wick::SumOptions has no comment"),
    (HEADER, "  // of the addends", "", "wick::SumOptions::order has no comment"),
    (HEADER, "     // the addends: first, first + step ...", "", "wick::SumOptions::step has no comment"),
    (HEADER, "  // The number of addends.\n", "", "wick::SumOptions::count has no comment"),
    (HEADER, "  // Returns the value.\n", "", "wick::Sum::value has no comment"),
    (HEADER, "// A sum whose value is doubled.\n", "", "wick::Twice has no comment"),
    (HEADER, " /* of radians */\n#define X", "\n#define X", "wick::cosine has no comment"),
    (HEADER, "  int count = 0;\n", "  int count = 0;\n  int twice() const;\n", "wick::SumOptions::twice has no comment"),
    (HEADER, "Number larger(int a, int b);", "// Returns a sum.\nNumber fft(Number a);", "the headers have wick::fft"),
    ("trainer/own.h", "  // the value", "", "trainer/own.h:8: wick::Own::value has no comment"),
    ("docs/reference/pytorch.md", "`wick::larger`", "`wick::largest`", "the headers have no wick::largest"),
    ("docs/reference/pytorch.md", "`wick::sine`", "`wick::sinus`", "the headers have no wick::sinus"),
    ("docs/reference/pytorch.md", "| `torch.fft` | -", "| `torch.fft` | `wick::cosine`", "the count should read: Now: 2 names"),
    ("docs/reference/pytorch.md", "| `torch.max` |", "| `torch.min` |", "no row for torch.max"),
    ("docs/reference/pytorch_names.txt", "torch.fft\n", "torch.fft\ntorch.sin\n", "no row for torch.sin"),
]


def run(root):
    done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    if shutil.which("doxygen") is None:
        print("SKIP: doxygen not installed")
        return 77
    passed = failed = 0
    with tempfile.TemporaryDirectory() as root:
        for path, text in TREE.items():
            write(root, path, text)
        shutil.copy(os.path.join(ROOT, "docs", "reference", "Doxyfile"), os.path.join(root, "docs", "reference"))
        code, text = run(root)
        passed, failed = (1, 0) if code == 0 else (0, 1)
        if code != 0:
            print(f"the tree as it is:\n{text}")
        for path, old, new, says in FAULTS:
            write(root, path, TREE[path].replace(old, new, 1))
            code, text = run(root)
            write(root, path, TREE[path])
            good = old in TREE[path] and code == 1 and says in text
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"{path}: {old} -> {new}: exit {code}, wanted '{says}':\n{text}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
