#!/usr/bin/env python3
"""docs/recipes/add-an-op.md, done: a unary op HardShrink and an activation that products may end with, in copies of the files
that the recipe names. With every layer's part the layers' files compile and their rows meet the tables that ask for them; for
each layer, without its part, the compiler or the linker names the op.

leave_one_out.py BUILD: the commands are those of BUILD/compile_commands.json, without optimization. Last line: N passed, N
failed."""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/scripts"))
from compile_commands import entries_of  # noqa: E402

OP, ACT = "HardShrink", "kHardShrink"
ROW = 'WICK_OP(HardShrink, 400, NoAttrs, "x -> 0", unary_float, kInfer, kUnary, 0)\n'

# These changes make the op and the activation known; from here on every layer must have its part.
KNOWN = {
    "runtime/ops/ops.def": [(None, ROW)],
    "runtime/ops/attrs/conv.h": [("  kLast = kTimesHardSigmoid", "  kHardShrink = 13,\n  kLast = kHardShrink")],
}

REFERENCE = """
struct HardShrinkOp : NoParams {
  template <class T>
  static T f(T v, const Params&) {
    return v >= T(-0.5) && v <= T(0.5) ? T(0) : v;
  }
};
"""
# Layer, the file that has its part, (old, new), the file that asks, what the complaint must say.
COMPILES, LINKS = "does not compile", "does not link"
LAYERS = [
    ("reference kernels", "runtime/kernels/reference/unary.cc",
     [("struct HardSigmoidOp {", REFERENCE + "struct HardSigmoidOp {"),
      ('WICK_FLOAT_OP(HardSigmoid, "hard_sigmoid");', 'WICK_FLOAT_OP(HardSigmoid, "hard_sigmoid");\nWICK_FLOAT_OP(HardShrink, "hard_shrink");')],
     "runtime/kernels/kernel_set.cc", LINKS, "kRefRows_HardShrink"),
    ("SIMD kernels", "runtime/kernels/elementwise/unary.cc",
     [('WICK_PLAIN_ROW(Softplus, "softplus");', 'WICK_PLAIN_ROW(Softplus, "softplus");\nWICK_NO_CPU_ROWS(HardShrink);')],
     "runtime/kernels/kernel_set.cc", LINKS, "kCpuRows_HardShrink"),
    ("gradient", "trainer/autograd/grad/unary.cc",
     [("WICK_GRAD(HardSwish,", "WICK_GRAD(HardShrink, 0, kY, 0, [](GradCtx& c) {\n"
       "  c.set(0, where(eq(c.out(), 0), zero_like(c.g()), c.g()));\n});\nWICK_GRAD(HardSwish,")],
     "trainer/autograd/grad_table.cc", LINKS, "kGrad_HardShrink"),
    ("ONNX", "exporter/onnx/families/unary.cc",
     [("WICK_ONNX_PLAIN(HardSwish);", 'WICK_ONNX_PLAIN(HardSwish);\nWICK_ONNX_ROW(HardShrink, [](WriteCtx& c) {\n'
       '  set_float(c.same("Shrink"), "lambd", 0.5);\n});')],
     "exporter/onnx/write/write.cc", LINKS, "kOnnx_HardShrink"),
    ("Vulkan", "runtime/backend/vulkan/graph/no_shader.cc",
     [("WICK_NO_VULKAN(NonZero, kDataSized);", 'WICK_NO_VULKAN(NonZero, kDataSized);\nWICK_NO_VULKAN(HardShrink, "nobody has written one");')],
     "runtime/backend/vulkan/graph/rows.cc", LINKS, "kVulkan_HardShrink"),
    ("tests of ops", "tests/ops/unary.cc",
     [("WICK_UNARY(Softplus,", "WICK_UNARY(HardShrink, -2, 2, std::fabs(x) <= 0.5 ? 0.0 : x);\nWICK_UNARY(Softplus,")],
     "tests/ops/empty_test.cc", LINKS, "kTest_HardShrink"),
    ("cost", "runtime/ops/op_cost.cc", [("kSilu, kHardSwish, kDequantize", "kSilu, kHardSwish, kHardShrink, kDequantize")],
     None, COMPILES, "kNoListHoldsTheOpOfId.*400|400.*kNoListHoldsTheOpOfId"),
    ("autocast", "trainer/tensor/autocast.cc", [("kSilu, kHardSwish,", "kSilu, kHardSwish, kHardShrink,")],
     None, COMPILES, "kNoListHoldsTheOpOfId.*400|400.*kNoListHoldsTheOpOfId"),
    ("integer forms", "quantize/passes/op_parts.cc", [("kSilu, kHardSwish,", "kSilu, kHardSwish, kHardShrink,")],
     None, COMPILES, "kNoListHoldsTheOpOfId.*400|400.*kNoListHoldsTheOpOfId"),
    ("the activation's op", "runtime/ops/activation.h",
     [("OpId::kHardSigmoid, 0, true},", "OpId::kHardSigmoid, 0, true}, {Activation::kHardShrink, OpId::kHardShrink},")],
     "graph/passes/fuse.cc", COMPILES, "a row for each activation"),
    ("the activation in plain loops", "runtime/kernels/reference/real.h",
     [("    case Activation::kHardSwish: return y * (clip", "    case Activation::kHardShrink: return y >= -0.5 && y <= 0.5 ? 0 : y;\n"
       "    case Activation::kHardSwish: return y * (clip"),
      ("    case Activation::kHardSwish: return scalar_math", "    case Activation::kHardShrink: return x >= -0.5f && x <= 0.5f ? 0 : x;\n"
       "    case Activation::kHardSwish: return scalar_math")],
     "runtime/kernels/reference/conv.cc", COMPILES, "kHardShrink.*not handled"),
    ("the activation in the list of loops", "runtime/kernels/activation.h", [("X(HardSwish)", "X(HardShrink) X(HardSwish)")],
     "runtime/kernels/activation.cc", COMPILES, "WICK_ACTIVATIONS lacks an activation"),
    ("the activation's loop", "runtime/kernels/activation.cc",
     [("WICK_ACTIVATION_LOOP(HardSwish,", "WICK_ACTIVATION_LOOP(HardShrink, F(hn::IfThenZeroElse(hn::Le(hn::Abs(x.v),\n"
       "    hn::Set(hn::ScalableTag<float>(), 0.5f)), x.v)))\nWICK_ACTIVATION_LOOP(HardSwish,")],
     "runtime/kernels/activation.cc", COMPILES, "HardShrink"),
    ("the activation's gradient", "trainer/autograd/grad/epilogue.cc",
     [("    case Activation::kHardSwish:", "    case Activation::kHardShrink: return where(gt(abs(y), 0.5), y, zeros_like(y));\n    case Activation::kHardSwish:")],
     None, COMPILES, "kHardShrink.*not handled"),
    ("the activation in shaders", "runtime/backend/vulkan/graph/lower.cc",
     [("    case Activation::kHardSwish:", "    case Activation::kHardShrink: return uint32_t{WICK_FN_HARD_SWISH};\n    case Activation::kHardSwish:")],
     None, COMPILES, "kHardShrink.*not handled"),
]


def edited(path, edits):
    text = (ROOT / path).read_text()
    for old, new in edits:
        if old is None:
            text += new
        elif text.count(old) != 1:
            raise SystemExit(f"{path}: the recipe's place {old!r} is there {text.count(old)} times: mend {__file__}")
        else:
            text = text.replace(old, new)
    return text


def overlay(folder, edits):
    for path, changes in edits.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(edited(path, changes))


def compile_one(commands, folder, path, objects):
    """Compiles `path`, as the overlay has it where it does, with the overlay's headers first."""
    command = [w for w in shlex.split(commands[path]["command"]) if not re.fullmatch(r"-O\w|-M\w*|-Winvalid-pch|.*ccache", w)]
    # The precompiled header is of another -O.
    for flag in ("-o", "-c", "-MT", "-MF", "-include"):
        if flag in command:
            at = command.index(flag)
            del command[at:at + 2]
    source = folder / path if (folder / path).exists() else ROOT / path
    at = next(i for i, w in enumerate(command) if w.startswith("-I"))
    command[at:at] = [f"-I{folder}"]
    out = objects / (path.replace("/", "_") + ".o")
    ran = subprocess.run(command + ["-iquote", str((ROOT / path).parent), "-O0", "-c", str(source), "-o", str(out)],
                         cwd=commands[path]["directory"], capture_output=True, text=True)
    return ran.returncode == 0, ran.stderr, out


def names(option, objects):
    ran = subprocess.run(["nm", "-C", option] + [str(o) for o in objects], capture_output=True, text=True, check=True)
    return set(re.findall(rf"\bk[A-Z]\w*_{OP}\b", ran.stdout))


def try_layers(commands, folder, left_out):
    """With every part, or without those of one layer: a message, or None where it is as it must be."""
    edits = {path: list(changes) for path, changes in KNOWN.items()}
    for layer in LAYERS:
        if layer is not left_out:
            edits.setdefault(layer[1], []).extend(layer[2])
    overlay(folder, edits)
    wanted = LAYERS if left_out is None else [left_out]
    paths = {p for layer in wanted for p in (layer[1], layer[3]) if p in commands}
    built = {p: compile_one(commands, folder, p, folder) for p in sorted(paths)}
    broken = {p: text for p, (ok, text, _) in built.items() if not ok}
    if left_out is None or left_out[4] == LINKS:
        if broken:
            path, text = next(iter(broken.items()))
            return f"{path} does not compile:\n{text[:2000]}"
        objects = [out for _, _, out in built.values()]
        missing = names("-u", objects) - names("--defined-only", objects)
        if left_out is None:
            return f"no layer defines {sorted(missing)}" if missing else None
        return None if left_out[5] in missing else f"it links: of {left_out[5]} nothing is missing"
    if not broken:
        return "it compiles"
    text = " ".join("".join(broken.values()).split())
    return None if re.search(left_out[5], text) else f"its error does not say {left_out[5]!r}:\n{text[:2000]}"


def main():
    build = Path(sys.argv[1]).resolve()
    commands = {}
    for entry in entries_of(build):
        commands[os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)] = entry
    for layer in LAYERS:
        for path in (layer[1], layer[3]):
            if path is not None and path.endswith(".cc") and path not in commands:
                raise SystemExit(f"{path} is not compiled: mend {__file__}")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        def one(at):
            folder = Path(scratch) / str(at)
            folder.mkdir()
            return try_layers(commands, folder, None if at == 0 else LAYERS[at - 1])
        for at, problem in enumerate(pool.map(one, range(len(LAYERS) + 1))):
            what = "every layer" if at == 0 else f"without {LAYERS[at - 1][0]} ({LAYERS[at - 1][1]})"
            says = "compiles, and every row is there" if at == 0 else LAYERS[at - 1][4]
            print(f"{what}: {says if problem is None else 'FAILED: ' + problem}", flush=True)
            failed += problem is not None
    print(f"{len(LAYERS) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
