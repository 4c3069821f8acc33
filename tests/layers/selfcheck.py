#!/usr/bin/env python3
"""Plants one violation at a time in a scratch tree and requires check_includes.py, check_shape_reads.py,
check_doors.py, check_onnx_tables.py or check_c_api.py to name it; the same tree without the violation must pass."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import check_c_api  # noqa: E402
import check_doors  # noqa: E402
import check_facts  # noqa: E402
import check_includes  # noqa: E402
import check_onnx_tables  # noqa: E402
import check_shape_reads  # noqa: E402

CLEAN = {
    "runtime/platform/posix/files.cc": "#include <unistd.h>\n",
    "runtime/platform/files.h": "#include <cstdint>\n",
    "runtime/core/status.h": "#include <cstdint>\n",
    "runtime/core/status.cc": '#include "runtime/platform/files.h"\n',
    "runtime/ops/rules.h": '#include "runtime/core/status.h"\n',
    "runtime/kernels/gemm/gemm.h": '#include <hwy/highway.h>\n#include "runtime/ops/rules.h"\n',
    "runtime/program/program.fbs": "",
    "runtime/program/loader.cc": '#include "runtime/program/program_generated.h"\n',
    "runtime/backend/backend.h": '#include "runtime/kernels/gemm/gemm.h"\n',
    "runtime/backend/cpu/cpu.h": '#include "runtime/backend/backend.h"\n',
    "runtime/exec/session.h": '#include "runtime/core/status.h"\n',
    "runtime/exec/session.cc": '#include "runtime/backend/cpu/cpu.h"\n',
    "runtime/include/wick/runtime.h": '#include "runtime/exec/session.h"\n',
    "graph/ir/graph.h": '#include <vector>\n#include "runtime/ops/rules.h"\n',
    "trainer/tensor/tensor.h": '#include <string>\n#include "runtime/core/status.h"\n',
    "trainer/capture/capture.h": '#include "trainer/tensor/tensor.h"\n#include "graph/ir/graph.h"\n',
    "trainer/distributed/group.h": '#include "trainer/tensor/tensor.h"\n',
    "trainer/distributed/mpi/world.cc": "#include <mpi.h>\n",
    "quantize/passes/quantize.h": '#include "graph/ir/graph.h"\n',
    "quantize/qat/qat.h": '#include "trainer/capture/capture.h"\n#include "quantize/passes/quantize.h"\n',
    "quantize/include/wick/quantize.h": '#include "quantize/qat/qat.h"\n',
    "exporter/onnx/onnx.h": '#include "graph/ir/graph.h"\n',
    "exporter/include/wick/compile.h": '#include "exporter/onnx/onnx.h"\n#include "trainer/capture/capture.h"\n',
    "tools/lib/model.h": '#include "exporter/onnx/onnx.h"\n',
    "tools/wick/command.h": "",
    "tools/wick/command_line.cc": '#include <CLI/CLI.hpp>\n#include "wick/runtime.h"\n',
}

PLANTED = [
    ("runtime/core/bad.h", '#include "runtime/ops/rules.h"\n', "upward include"),
    ("runtime/platform/bad.h", '#include "runtime/core/status.h"\n', "upward include"),
    ("runtime/ops/bad.h", '#include "runtime/kernels/gemm/gemm.h"\n', "upward include"),
    ("runtime/kernels/bad.h", '#include "runtime/exec/session.h"\n', "upward include"),
    ("runtime/plan/bad.h", '  #  include "runtime/backend/backend.h"\n', "upward include"),
    ("runtime/exec/bad.cc", '#include "graph/ir/graph.h"\n', "upward include"),
    ("trainer/tensor/bad.h", '#include "graph/ir/graph.h"\n', "upward include"),
    ("graph/ir/bad.h", '#include "trainer/tensor/tensor.h"\n', "upward include"),
    ("exporter/onnx/bad.h", '#include "trainer/tensor/tensor.h"\n', "upward include"),
    ("exporter/onnx/bad2.h", '#include "trainer/capture/capture.h"\n', "upward include"),
    ("exporter/include/wick/bad.h", '#include "wick/quantize.h"\n', "upward include"),
    ("trainer/tensor/bad2.h", '#include "trainer/capture/capture.h"\n', "upward include"),
    ("trainer/tensor/bad3.h", '#include "trainer/distributed/group.h"\n', "upward include"),
    ("trainer/distributed/bad.cc", "#include <mpi.h>\n", "may not include <mpi.h>"),
    ("trainer/capture/bad.h", '#include "exporter/onnx/onnx.h"\n', "upward include"),
    ("quantize/passes/bad.h", '#include "trainer/tensor/tensor.h"\n', "upward include"),
    ("quantize/qat/bad.h", '#include "exporter/onnx/onnx.h"\n', "upward include"),
    ("tools/lib/bad.h", '#include "tools/wick/command.h"\n', "upward include"),
    ("tools/wick/main.cc", "#include <CLI/CLI.hpp>\n", "may not include <CLI/CLI.hpp>"),
    ("tools/lib/bad.cc", "#include <CLI/CLI.hpp>\n", "may not include <CLI/CLI.hpp>"),
    ("graph/ir/bad2.h", '#include "runtime/exec/session.h"\n', "upward include"),
    ("graph/ir/bad3.h", '#include "wick/runtime.h"\n', "upward include"),
    ("runtime/exec/bad2.cc", '#include "runtime/include/wick/runtime.h"\n', 'write "wick/runtime.h"'),
    ("runtime/core/bad.cc", "#include <vector>\n", "may not include <vector>"),
    ("trainer/tensor/bad.cc", "#include <onnx/checker.h>\n", "may not include <onnx/checker.h>"),
    ("runtime/core/bad2.h", '#include "status.h"\n', "not a file of this repository"),
    ("runtime/include/wick/runtime.h", '#include "runtime/kernels/gemm/gemm.h"\n#include "runtime/exec/session.h"\n',
     '"runtime/kernels/gemm/gemm.h" would come to every user of wick/runtime.h'),
    ("runtime/exec/session.h", '#include "runtime/backend/backend.h"\n#include "runtime/core/status.h"\n',
     '"runtime/backend/backend.h" would come to every user of wick/runtime.h'),
    ("runtime/include/wick/runtime.h", '#include "runtime/core/status.h"\n', "does not reach runtime/exec/session.h"),
]


DOORS = [
    ("trainer/loop/bad.cc", '  Json state = Json::parse(text);\n'),
    ("tools/lib/bad.cc", '  auto doc = nlohmann::json::parse(text, nullptr, false);\n'),
    ("tools/wick/bad.cc", '  std::cerr << name;\n'),
    ("tools/wick/bad.cc", '  fmt::print(plain_stderr(), "{}", name);\n'),
    ("tools/lib/bad.h", '  std::cout << name;\n'),
    ("runtime/core/bad.cc", "#include <sys/stat.h>\n"),
    ("runtime/registry/bad.cc", "#include <mutex>\n"),
    ("runtime/backend/vulkan/bad.cc", "#include <windows.h>\n"),
    ("runtime/exec/bad.cc", "constinit thread_local int depth = 0;\n"),
    ("tools/lib/bad.cc", "#include <linux/perf_event.h>\n"),
]
READS = [
    ("runtime/kernels/bad.cc", "  int64_t axis = *in[1].as<int64_t>();\n"),
    ("runtime/kernels/bad.cc", "  const int32_t* axes = axes_view->as<int32_t>();\n"),
    ("runtime/backend/vulkan/graph/bad.h", "  mark(axes.as<int64_t>()[i]);\n"),
    ("graph/passes/bad.cc", "  const auto* v = static_cast<const int64_t*>(t.data());\n"),
    ("runtime/exec/bad.cc", "  out[0].as<int64_t>()[0] = in[0].as<int64_t>()[1];\n"),
    ("runtime/kernels/sequence/rnn.h", "  nothing that its reason names\n"),
    ("runtime/kernels/bad.cc", "  const int64_t axis = int_at(in[1], 0);\n"),
]

FACTS = [
    ("graph/passes/bad.cc", "bool f(OpId op) {\n  switch (op) {\n    case OpId::kAdd: return true;\n    default: return false;\n  }\n}\n"),
    ("graph/passes/bad.cc", "bool f(OpId op) { return op >= OpId::kReshape; }\n"),
    ("trainer/tensor/bad.cc", "bool f(OpId op) { return OpId::kRelu < op; }\n"),
    ("runtime/exec/bad.cc", "#define WICK_OP(Name, rule) {OpId::k##Name, #rule},\n"),
    ("runtime/exec/bad.cc", "  if (strcmp(s.message(), \"no\") == 0) return s;\n"),
    ("runtime/exec/bad.cc", "  WICK_TRY(row->run(ctx, in, out, attrs));\n"),
    ("tools/wick/bad.cc", "  if (row.plan(query, &plan).ok()) return;\n"),
]


OPERATORS = {
    "exporter/onnx/operators/default.def": "".join(f'WICK_ONNX({n}, 1, "r", "", "T[2]")\n' for n in (
        "Abs", "Ceil", "Exp", "Floor", "Log", "Relu")),
    "exporter/onnx/good.cc": 'void f(C& c) {\n  c.add("Abs");\n  c.add("Exp");\n  c.add("Log");\n  c.add("Relu");\n'
                             '  c.add("Ceil");\n}\n',
}
TABLES = [
    ("exporter/onnx/bad.cc", 'constexpr Row kRows[] = {\n    {"Abs", 1}, {"Ceil", 2}, {"Exp", 3},\n    {"Log", 4}, '
                             '{"Relu", 5},\n};\n'),
    ("tools/wick/bad.cc", 'static const std::set<std::string> kNames = {"Abs", "Exp", "Log", "Ceil", "Floor"};\n'),
    ("quantize/bad.h", 'constexpr Later kLater[] = {{18, "Abs Exp Log "\n "Ceil Floor"}};\n'),
    ("graph/bad.def", "X(Abs, 1)\nX(Exp, 2)\nX(Log, 3)\nX(Ceil, 4)\nX(Floor, 5)\n"),
]


C_API = {
    "runtime/exec/session.h": "struct RunOptions {\n  uint64_t timeout_ns = 0;\n};\n// A comment; with { signs\nclass Session {\n"
                              " public:\n  static Result<Owned<Session>> create(const Program& p, const RunOptions& o = {});\n"
                              "  size_t count() const { return count_; }\n  class Hidden;\n  struct Form {\n    int a = 0, b = 0;\n  };\n"
                              " private:\n  size_t count_ = 0;\n};\n",
    "runtime/core/status.h": "enum class Code : uint8_t {\n  kOk = 0,  // fine\n  kBad = 3,\n};\n",
    "runtime/include/wick/wick.h": "typedef enum wick_code { WICK_OK = 0, WICK_BAD = 3 } wick_code;\n"
                                   "typedef struct wick_session wick_session;\n"
                                   "typedef struct wick_run_options {\n  /* sizeof */\n  size_t size;\n  uint64_t timeout_ns;\n} wick_run_options;\n"
                                   "typedef struct wick_form {\n  size_t size;\n  int a, b;\n} wick_form;\n"
                                   "WICK_API int wick_create(wick_session** session);\n"
                                   "WICK_API size_t wick_count(const wick_session* session,\n                           size_t i);\n",
    "tests/layers/c_api.txt": "RunOptions::timeout_ns = wick_run_options.timeout_ns\nSession::create = wick_create\n"
                              "Session::count = wick_count\nSession::Form::a = wick_form.a\nSession::Form::b = wick_form.b\n"
                              "Code::kOk = WICK_OK\nCode::kBad = WICK_BAD\n",
}
C_API_PLANTED = [  # a file, what is put in place of what, the words of the one problem
    ("runtime/exec/session.h", "  class Hidden;", "  void stop();", "Session::stop: in C++ and not in"),
    ("runtime/exec/session.h", "timeout_ns = 0", "timeout_ns = 0, limit = 1", "RunOptions::limit: in C++ and not in"),
    ("runtime/exec/session.h", " private:", "", "Session::count_: in C++ and not in"),
    ("runtime/exec/session.h", "int a = 0, b = 0", "int a = 0", "C++ has no Session::Form::b any more"),
    ("runtime/core/status.h", "kBad = 3", "kBad = 4", "Code::kBad is 4, WICK_BAD is 3"),
    ("tests/layers/c_api.txt", "wick_form.a", "wick_form.c", "C has no wick_form.c"),
    ("tests/layers/c_api.txt", "Code::kOk = WICK_OK", "Code::kOk = WICK_OK\nwick_count + it has a row", "is in a row, and said"),
    ("tests/layers/c_api.txt", "Session::count = wick_count", "Session::count - it has none", "wick_count: in C and not in"),
    ("runtime/include/wick/wick.h", "  int a, b;", "  int a, b;\n  int c;", "the headers have more"),
    ("runtime/include/wick/wick.h", "WICK_API int wick_create", "int wick_create", "wick_create: without WICK_API"),
    ("runtime/include/wick/wick.h", "(wick_session** session)", "(wick_session** session, int k)", "changed or gone"),
    ("runtime/include/wick/wick.h", "  int a, b;", "  int a;\n  int b;", "changed or gone"),
]


def plant_c_api(root):
    write(root, C_API)
    problems, _ = check_c_api.check_tree(root, write=True)
    failed = int(bool(problems or check_c_api.check_tree(root)[0]))
    if failed:
        print("check_c_api refuses a clean tree:", problems)
    for path, old, new, found in C_API_PLANTED:
        write(root, {path: C_API[path].replace(old, new, 1)})
        problems, _ = check_c_api.check_tree(root)
        write(root, {path: C_API[path]})
        if C_API[path].count(old) == 0 or len(problems) != 1 or found not in problems[0]:
            print(f"planted in {path}: {new}: wanted one '{found}', got {problems}")
            failed += 1
    return failed


def write(root, files):
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)


def plant(root, check, planted, found):
    """How often the checker refuses the clean tree, or does not name what is planted in it and nothing else."""
    failed = 0
    if check.check_tree(root)[0]:
        print(f"{check.__name__} refuses a clean tree:", check.check_tree(root)[0])
        failed += 1
    for path, text in planted:
        write(root, {path: text})
        problems = check.check_tree(root)[0]
        os.remove(os.path.join(root, path))
        if len(problems) != 1 or not problems[0].startswith(path + found):
            print(f"planted in {path}: {text.strip()}: got {problems}")
            failed += 1
    return failed


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as root:
        write(root, CLEAN)
        problems, files = check_includes.check_tree(root)
        if problems or files != len(CLEAN) - 1:  # the .fbs is not a source
            print("the clean tree was refused:", problems, files)
            failed += 1
        for path, text, wanted in PLANTED:
            write(root, {path: text})
            problems, _ = check_includes.check_tree(root)
            os.remove(os.path.join(root, path))
            write(root, {p: CLEAN[p] for p in [path] if p in CLEAN})
            if len(problems) != 1 or wanted not in problems[0] or not problems[0].startswith(path + ":1:"):
                print(f"planted in {path}: {text.strip()}: wanted one '{wanted}', got {problems}")
                failed += 1
        check_includes.SEES["quantize"].append("exporter")
        check_includes.SEES["exporter"].append("quantize")
        if check_includes.cycle() != "exporter -> quantize -> exporter":
            print(f"exporter and quantize see each other: got '{check_includes.cycle()}'")
            failed += 1
        write(root, {"graph/passes/good.cc": "  out[0].as<int64_t>()[0] = int_at(in[1], 0);  // as<int64_t>() no\n"})
        failed += plant(root, check_shape_reads, READS, ":")
        failed += plant(root, check_facts, FACTS, ":")
        failed += plant(root, check_doors, DOORS, ":1: ")
        write(root, OPERATORS)
        failed += plant(root, check_onnx_tables, TABLES, ":1: a table of 5")
    with tempfile.TemporaryDirectory() as root:
        failed += plant_c_api(root)
    print(f"{6 + len(PLANTED) + len(C_API_PLANTED) + len(DOORS) + len(READS) + len(FACTS) + len(TABLES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
