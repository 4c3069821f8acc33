// wick_select_ops [--ops LIBRARY.so]... MODEL.wick... [OP[:simd|:narrow|:reference]...]
// [FusedElementwise:arithmetic] [-o FILE.cc]: the kernels that running these models takes, printed
// as a list, or written as the source file that links no others.
//
// A model is opened for a few sizes of its symbolic dimensions; per step it is seen whether the
// SIMD rows serve it, those of narrow types or the reference rows, and of a chain whether the row
// of arithmetic does. Steps that never reach a backend (evaluated while binding, or only planned
// once values are known) get both.
#include <cstdio>
#include <cstring>

#include "runtime/backend/backend.h"
#include "runtime/core/array.h"
#include "runtime/kernels/chain_rows.h"
#include "runtime/kernels/half_kernels.h"
#include "runtime/ops/op_library.h"
#include "wick/runtime.h"

namespace wick {
namespace {

enum Sets : uint8_t {
  kNone = 0,
  kSimd = 1,
  kReference = 2,
  kAny = 3,
  kNarrow = 4,
  kArithmetic = 8
};
constexpr size_t kOpIds = 1 << 16;
Sets g_chosen[kOpIds];

void add(OpId op, Sets sets) {
  Sets& s = g_chosen[static_cast<size_t>(op)];
  s = static_cast<Sets>(s | sets);
}

// Takes no step, notes every one it is asked about.
class Recorder final : public Backend {
 public:
  const char* name() const override { return "recorder"; }
  bool supports(const KernelQuery& query) override {
    static constexpr const KernelSet* kSimdOnly[] = {&kCpuKernels};
    static constexpr const KernelSet* kNarrowOnly[] = {&kHalfKernels};
    static constexpr const KernelSet* kArithmeticOnly[] = {&kArithmeticChains};
    add(query.op, find_kernel(kArithmeticOnly, query) != nullptr ? kArithmetic
                  : find_kernel(kSimdOnly, query) != nullptr     ? kSimd
                  : find_kernel(kNarrowOnly, query) != nullptr   ? kNarrow
                                                                 : kReference);
    return false;
  }
  Result<Owned<Partition>> compile(const PartitionSpec&, Allocator&) override {
    return Status(Code::kInternal, "the recorder takes no steps");
  }
};

// Opens one entry with every symbol at `extent`, or its nearest allowed one.
Status try_sizes(const Program& program, const EntryDef& entry, int64_t extent,
                 Recorder& recorder) {
  Array<DimBinding> dims(default_allocator());
  for (const SymbolDef& s : program.symbols()) {
    int64_t n = extent < s.min ? s.min : extent > s.max ? s.max : extent;
    WICK_TRY(dims.push_back({s.name, n}));
  }
  SessionOptions options;
  options.entry = entry.name;
  options.threads = 1;
  options.backend = &recorder;
  options.max_dims = dims;
  return Session::create(program, options).status();
}

Status select(const char* path, Span<const CustomOp* const> custom_ops) {
  LoadOptions options;
  options.custom_ops = custom_ops;
  auto loaded = Program::load(path, options);
  if (!loaded.ok()) return loaded.status();
  const Program& program = **loaded;
  for (const EntryDef& entry : program.entries()) {
    Recorder recorder;
    bool opened = false;
    Status last;
    for (int64_t extent : {1, 2, 5, 16, 128}) {
      last = try_sizes(program, entry, extent, recorder);
      opened = opened || last.ok();
    }
    if (!opened) return annotate(last, "%s: entry %.60s: ", path, entry.name);
    for (const RegionDef& region : entry.regions) {
      for (const NodeDef& node : region.nodes) {
        if (region_count(node.op) == 0 && g_chosen[static_cast<size_t>(node.op)] == kNone)
          add(node.op, kAny);
      }
    }
  }
  return {};
}

const char* kAnyNames[] = {"", " | kSimd", " | kReference", " | kAny"};
const char* kSuffixes[] = {"", ":simd", ":reference", ""};  // of these

bool add_op(const char* text) {
  char name[64];
  const char* colon = strchr(text, ':');
  size_t n = colon == nullptr ? strlen(text) : static_cast<size_t>(colon - text);
  if (n >= sizeof(name)) return false;
  memcpy(name, text, n);
  name[n] = '\0';
  Sets sets = colon == nullptr                    ? kAny
              : strcmp(colon, ":simd") == 0       ? kSimd
              : strcmp(colon, ":narrow") == 0     ? kNarrow
              : strcmp(colon, ":reference") == 0  ? kReference
              : strcmp(colon, ":arithmetic") == 0 ? kArithmetic
                                                  : kNone;
  const OpInfo* info = find_op(name);
  if (sets == kArithmetic && info != nullptr && info->id != OpId::kFusedElementwise) return false;
  if (info == nullptr || info->role != OpRole::kInfer || sets == kNone) return false;
  add(info->id, sets);
  return true;
}

bool write_source(const char* path) {
  FILE* f = fopen(path, "w");
  if (f == nullptr) return false;
  fprintf(f, "// Written by wick_select_ops.\n#define WICK_SELECTED_OPS(X)");
  for (const OpInfo& op : all_ops()) {
    Sets s = g_chosen[static_cast<size_t>(op.id)];
    if (s == kNone) continue;
    fprintf(f, " \\\n  X(%s, 0%s%s%s)", op.name, kAnyNames[s & kAny],
            (s & kNarrow) != 0 ? " | kNarrow" : "", (s & kArithmetic) != 0 ? " | kArithmetic" : "");
  }
  fprintf(f, "\n#include \"runtime/kernels/selected_ops.h\"\n");
  bool ok = ferror(f) == 0;
  return (fclose(f) == 0) && ok;
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
      if (s.ok()) library->release();  // in use until the process ends
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
    if (!add_op(argv[i])) {
      fprintf(stderr,
              "wick_select_ops: %s is neither a .wick file nor an op, OP:simd, OP:narrow, "
              "OP:reference or FusedElementwise:arithmetic "
              "(wick ops lists them)\n",
              argv[i]);
      return 1;
    }
  }
  if (given == 0) {
    fprintf(stderr,
            "usage: wick_select_ops [--ops LIBRARY.so]... MODEL.wick... "
            "[OP[:simd|:narrow|:reference]...] "
            "[-o FILE.cc]\n");
    return 2;
  }
  if (out != nullptr) {
    if (write_source(out)) return 0;
    fprintf(stderr, "wick_select_ops: cannot write %s\n", out);
    return 1;
  }
  for (const OpInfo& op : all_ops()) {
    Sets s = g_chosen[static_cast<size_t>(op.id)];
    if ((s & kAny) != 0) printf("%s%s\n", op.name, kSuffixes[s & kAny]);
    if ((s & kNarrow) != 0) printf("%s:narrow\n", op.name);
    if ((s & kArithmetic) != 0) printf("%s:arithmetic\n", op.name);
  }
  return 0;
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) { return wick::run(argc, argv); }
