// wick_select_ops [--ops LIBRARY.so]... MODEL.wick...
// [OP[:simd|:blocked|:products|:narrow|:reference]...] [FusedElementwise:arithmetic] [-o FILE.cc]
// Prints the list of the kernels that these models need, or writes the source file that links only
// them.
#include <cstdio>
#include <cstring>

#include "runtime/core/array.h"
#include "runtime/ops/op_library.h"
#include "runtime/select/selection.h"

namespace wick {
namespace {

OpSelection g_selection;

Status select(const char* path, Span<const CustomOp* const> custom_ops) {
  LoadOptions options;
  options.custom_ops = custom_ops;
  WICK_ASSIGN(auto program, Program::load(path, options));
  return annotate(g_selection.add(*program), "%s: ", path);
}

int run(int argc, char** argv) {
  const char* out = nullptr;
  int given = 0;
  Array<const CustomOp*> custom(default_allocator());
  for (int i = 1; i < argc; ++i) {
    size_t n = strlen(argv[i]);
    if (strcmp(argv[i], "--ops") == 0 && i + 1 < argc) {
      auto library = OpLibrary::open(argv[++i]);
      Status s = library.status();
      for (const CustomOp* op : s.ok() ? (*library)->ops() : Span<const CustomOp* const>()) {
        if (s.ok()) s = custom.push_back(op);
      }
      if (s.ok()) library->release();  // it is in use until the process ends
      if (s.ok()) continue;
      fprintf(stderr, "wick_select_ops: %s\n", s.message());
      return 1;
    }
    if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
      out = argv[++i];
      continue;
    }
    ++given;
    if (n > 5 && strcmp(argv[i] + n - 5, ".wick") == 0) {
      Status s = select(argv[i], {custom.data(), custom.size()});
      if (s.ok()) continue;
      fprintf(stderr, "wick_select_ops: %s\n", s.message());
      return 1;
    }
    if (!g_selection.add(argv[i])) {
      fprintf(stderr,
              "wick_select_ops: %s is neither a .wick file nor an op, OP:simd, OP:blocked, "
              "OP:products, OP:narrow, "
              "OP:reference or FusedElementwise:arithmetic "
              "(wick ops lists them)\n",
              argv[i]);
      return 1;
    }
  }
  if (given == 0) {
    fprintf(stderr,
            "usage: wick_select_ops [--ops LIBRARY.so]... MODEL.wick... "
            "[OP[:simd|:blocked|:products|:narrow|:reference]...] "
            "[-o FILE.cc]\n");
    return 2;
  }
  if (out != nullptr) {
    if (g_selection.write_source(out)) return 0;
    fprintf(stderr, "wick_select_ops: cannot write %s\n", out);
    return 1;
  }
  g_selection.each([](const char* text) { puts(text); });
  return 0;
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) { return wick::run(argc, argv); }
