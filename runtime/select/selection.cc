#include "runtime/select/selection.h"

#include <cstring>

#include "runtime/backend/backend.h"
#include "runtime/core/array.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/elementwise/chain_rows.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/product_rows.h"

namespace wick {
namespace {

// A backend that takes no step but records every step that it is asked about. Steps that never
// reach a backend (evaluated while binding, or planned only once values are known) get both sets of
// kernels.
class Recorder final : public Backend {
 public:
  explicit Recorder(OpSelection& selection) : selection_(selection) {}
  const char* name() const override { return "recorder"; }
  bool supports(const KernelQuery& query) override {
    static constexpr const KernelSet* kSimdOnly[] = {&kCpuKernels};
    static constexpr const KernelSet* kNarrowOnly[] = {&kHalfKernels};
    static constexpr const KernelSet* kArithmeticOnly[] = {&kArithmeticChains};
    static constexpr const KernelSet* kProductsOnly[] = {&kProductKernels};
    selection_.add(query.op,
                   find_kernel(kArithmeticOnly, query) != nullptr ? OpSelection::kArithmetic
                   : find_kernel(kSimdOnly, query) != nullptr     ? OpSelection::kSimd
                   : find_kernel(kProductsOnly, query) != nullptr ? OpSelection::kProducts
                   : find_kernel(kNarrowOnly, query) != nullptr   ? OpSelection::kNarrow
                                                                  : OpSelection::kReference);
    return false;
  }
  Result<Owned<Partition>> compile(const PartitionSpec&, Allocator&) override {
    return Status(Code::kInternal, "the recorder takes no steps");
  }

 private:
  OpSelection& selection_;
};

// Opens one entry point with every symbol bound to `extent`, or to the nearest allowed value,
// except those that `given` binds.
Status try_sizes(const Program& program, const EntryDef& entry, int64_t extent,
                 Span<const DimBinding> given, Recorder& recorder) {
  Array<DimBinding> dims(default_allocator());
  for (const SymbolDef& s : program.symbols()) {
    int64_t n = extent;
    for (const DimBinding& d : given)
      if (strcmp(d.symbol, s.name) == 0) n = d.extent;
    WICK_TRY(dims.push_back({s.name, n < s.min ? s.min : n > s.max ? s.max : n}));
  }
  SessionOptions options;
  options.entry = entry.name;
  options.threads = 1;
  options.backend = &recorder;
  options.max_dims = dims;
  return Session::create(program, options).status();
}

// With fewer convolutions, kernels for blocked layout gain less than their code costs.
constexpr int kManyConvolutions = 4;

int convolutions(const EntryDef& entry) {
  int n = 0;
  for (const RegionDef& region : entry.regions) {
    for (const NodeDef& node : region.nodes)
      n += node.op == OpId::kConv || node.op == OpId::kFusedConv ? 1 : 0;
  }
  return n;
}

// Returns whether sizes of the inputs are enough to bind: those of states may be known only to a
// run with one.
bool binds(const EntryDef& entry) {
  auto told = [&](int32_t symbol) {
    for (uint32_t input : entry.body().inputs) {
      for (const DimDef& dim : entry.values[input].dims) {
        if (dim.symbol == symbol) return true;
      }
    }
    return false;
  };
  for (const ValueDef& v : entry.values) {
    if (v.state == kNoIndex) continue;
    for (const DimDef& dim : v.dims) {
      if (dim.symbol >= 0 && !told(dim.symbol)) return false;
    }
  }
  return true;
}

}  // namespace

void OpSelection::add(OpId op, Sets sets) {
  Sets& s = chosen_[static_cast<size_t>(op)];
  s = static_cast<Sets>(s | sets);
}

Status OpSelection::add(const Program& program, Span<const DimBinding> dims) {
  for (const EntryDef& entry : program.entries()) {
    Recorder recorder(*this);
    bool opened = false;
    Status last;
    for (int64_t extent : {1, 2, 5, 16, 128}) {
      last = try_sizes(program, entry, extent, dims, recorder);
      opened = opened || last.ok();
    }
    if (!opened) return annotate(last, "entry %.60s: ", entry.name);
    const bool seen = binds(entry);  // else no step of it was
    for (const RegionDef& region : entry.regions) {
      for (const NodeDef& node : region.nodes) {
        if (region_count(node.op) == 0 && (!seen || of(node.op) == kNone)) add(node.op, kAny);
      }
    }
    if (convolutions(entry) < kManyConvolutions) continue;
    for (const OpId op : {
#define WICK_BLOCKED_OP(Name) OpId::k##Name,
             WICK_BLOCKED_OPS(WICK_BLOCKED_OP)
#undef WICK_BLOCKED_OP
         }) {
      if ((of(op) & (kAny | kProducts)) != 0) add(op, kBlocked);
    }
  }
  return {};
}

bool OpSelection::add(const char* text) {
  char name[64];
  const char* colon = strchr(text, ':');
  const size_t n = colon == nullptr ? strlen(text) : static_cast<size_t>(colon - text);
  if (n >= sizeof(name)) return false;
  memcpy(name, text, n);
  name[n] = '\0';
  const Sets sets = colon == nullptr                    ? kAny
                    : strcmp(colon, ":simd") == 0       ? kSimd
                    : strcmp(colon, ":blocked") == 0    ? kBlocked
                    : strcmp(colon, ":products") == 0   ? kProducts
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

bool OpSelection::write_source(const char* path) const {
  static const char* const kAnyNames[] = {"", " | kSimd", " | kReference", " | kAny"};
  FILE* f = fopen(path, "w");
  if (f == nullptr) return false;
  fprintf(f, "// Written by wick_select_ops.\n#define WICK_SELECTED_OPS(X)");
  for (const OpInfo& op : all_ops()) {
    const Sets s = of(op.id);
    if (s == kNone) continue;
    fprintf(f, " \\\n  X(%s, 0%s%s%s%s%s)", op.name, kAnyNames[s & kAny],
            (s & kBlocked) != 0 ? " | kBlocked" : "", (s & kProducts) != 0 ? " | kProducts" : "",
            (s & kNarrow) != 0 ? " | kNarrow" : "", (s & kArithmetic) != 0 ? " | kArithmetic" : "");
  }
  fprintf(f, "\n#include \"runtime/kernels/selected_ops.h\"\n");
  const bool ok = ferror(f) == 0;
  return fclose(f) == 0 && ok;
}

}  // namespace wick
