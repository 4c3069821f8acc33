#!/usr/bin/env python3
"""Finds code in runtime/ and graph/ that reads the integers of a tensor by a type of its own.

Axes, sizes, pads and indices come in any integer dtype that the op's rule takes. Whoever reads them as
int64_t where the file says int8 reads beyond the tensor. So they are read by int_at() of
runtime/core/int_at.h, which takes every integer dtype; and what says how an op works (axes, bounds,
pads, sizes) only its shape rule reads: kernels and lowerings have ShapeArgs. What else reads integers
stands below with its reason; an entry that matches nothing is reported too.

usage: check_shape_reads.py [ROOT]      exit 0: nothing found; 1: one line per finding
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tree import root_of_arguments, sources, stale_reasons  # noqa: E402

ROOMS = ("runtime", "graph")
SOURCE = re.compile(r"\.(h|cc)$")
INTEGER = r"(?:const )?(?:std::)?(?:int16|u?int32|u?int64)_t(?: const)?"
READ = re.compile(rf"(?:\.|->)as<{INTEGER}>\(\)"
                  rf"|(?:static|reinterpret)_cast<{INTEGER}\s*\*>\([^;]*data"
                  r"|memcpy\(&\w+, \w*in\w*(?:\[[^\]]*\])?\.data\b")
# Kernels and backends: only elements that are indices.
KERNELS = ("runtime/kernels/", "runtime/backend/")
INT_AT = re.compile(r"\bint_at\(")
OUTPUT = re.compile(r"\bout\[[^\]]*\](?:\.|->)as<")  # what a kernel writes

# (file, what the line holds): why the dtype is certain there
REASONS = {
    ("runtime/core/int_at.h", ".as<"): "the one reader",
    ("runtime/kernels/blocked/blocked_channels.cc", "int_at(in[1]"): "indices",
    ("runtime/kernels/reference/gather.cc", "int_at("): "indices",
    ("runtime/kernels/reference/tuples.h", "int_at(indices"): "indices",
    ("runtime/kernels/reference/indices.h", "int_at(indices"): "indices",
    ("runtime/kernels/scatter_lines.cc", "int_at(index"): "indices",
    ("runtime/kernels/reference/roi.cc", "int_at(in[2]"): "the image that a region is of",
    ("runtime/kernels/reference/sequence.cc", "int_at(in["): "a position in a sequence, which a run gives",
    ("runtime/exec/values.cc", "info->elements = static_cast<const int64_t*>(v.data)"):
        "the bytes of a packed sequence, which begin at an address for int64",
    ("runtime/exec/values.cc", "info->elements = v.as<int64_t>();"): "its dtype was just compared",
    ("graph/interpreter/interpreter.cc", "in[i].elements = t.as<int64_t>();"): "the bytes of a packed sequence",
    ("runtime/backend/vulkan/trust/selftest_cases.cc", "views[i].as<int64_t>()"): "of int64 that it made itself",
    ("runtime/backend/vulkan/trust/selftest_cases.cc", "case k"): "writes by dtype",
    ("runtime/backend/vulkan/trust/trust.cc", "case DType::k"): "writes by dtype",
    ("runtime/program/reader.cc", "reinterpret_cast<const uint64_t*>(raw.data())"): "a file's table of strings",
    ("runtime/kernels/sequence/rnn.h", "in[4].as<int32_t>()"): "the rule takes sequence_lens in int32 alone",
    ("runtime/kernels/reference/text.cc", "in[2].as<int64_t>()"): "the rule takes the tables in int64 alone",
    ("runtime/kernels/reference/text.cc", "in[3].as<int64_t>()"): "the rule takes the tables in int64 alone",
    ("runtime/kernels/reference/trees.cc", "in["): "the rule takes the tables in int32 alone",
    ("runtime/kernels/bytes/qlinear_channels.h", "in[8].as<int32_t>()"): "a bias: elements, int32 by the rule",
    ("runtime/kernels/bytes/qlinear_gemm.cc", "in[kBias].as<int32_t>()"): "a bias: elements, int32 by the rule",
    ("runtime/kernels/bytes/in_place.cc", "in[bias].as<int32_t>()"): "a bias: elements, int32 by the rule",
    ("runtime/kernels/bytes/in_place.cc", "y.as<int32_t>()"): "the sums that it writes",
    ("runtime/kernels/reference/qlinear.cc", "bias->as<int32_t>()"): "a bias: elements, int32 by the rule",
    ("runtime/kernels/reference/quantize.cc", "case DType::k"): "elements, by dtype",
    ("runtime/kernels/reference/quantize.cc", "block.as<int64_t>()"): "a block that was widened to that type",
    ("runtime/kernels/reference/small.cc", "to->as<"): "a block that was widened to that type",
    ("runtime/kernels/reference/small.cc", "from.as<"): "a block that was widened to that type",
    ("runtime/kernels/reference/binary.cc", "wide.as<"): "a block that was widened to that type",
    ("runtime/kernels/reference/string_cast.cc", "block"): "a block that was widened to that type",
    ("graph/ir/host_tensor.cc", "case DType::k"): "elements, by dtype",
    ("graph/passes/lower_sums.cc", "constant.as<int32_t>()"): "a bias: elements, int32 by the rule",
    ("graph/passes/lower_operands.cc", "as<int32_t>()"): "a bias: elements, whose dtype was compared",
}


def check_tree(root):
    problems, used, files = [], set(), 0
    for path, text in sources(root, ROOMS, SOURCE):
        files += 1
        for number, line in enumerate(text.split("\n"), 1):
            code = line.split("//")[0]
            typed = READ.search(OUTPUT.sub("", code))
            if not typed and not (path.startswith(KERNELS) and INT_AT.search(code)):
                continue
            reasons = [key for key in REASONS if key[0] == path and key[1] in line]
            used.update(reasons)
            if not reasons:
                problems.append(f"{path}:{number}: reads integers by itself; take ShapeArgs, or int_at() "
                                f"for indices (runtime/core/int_at.h): {line.strip()}")
    return problems + stale_reasons(root, REASONS, used), files


def main():
    problems, files = check_tree(root_of_arguments())
    for problem in problems:
        print(problem)
    print(f"{files} files read, {len(problems)} readings of integers by themselves")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
