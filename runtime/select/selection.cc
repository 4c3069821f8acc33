#include "runtime/select/selection.h"

#include <cstring>

#include "runtime/backend/backend.h"
#include "runtime/backend/explain.h"
#include "runtime/core/array.h"
#include "runtime/kernels/activation.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/elementwise/chain_rows.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/product_rows.h"
#include "runtime/ops/products.h"
#include "runtime/platform/system.h"

namespace wick {
namespace {

// Records what serves a call of an op.
void record(OpSelection& selection, const KernelQuery& query) {
  static constexpr const KernelSet* kSimdOnly[] = {&kCpuKernels};
  static constexpr const KernelSet* kNarrowOnly[] = {&kHalfKernels};
  static constexpr const KernelSet* kArithmeticOnly[] = {&kArithmeticChains};
  static constexpr const KernelSet* kProductsOnly[] = {&kProductKernels};
  selection.add(query.op, find_kernel(kArithmeticOnly, query) != nullptr ? OpSelection::kArithmetic
                          : find_kernel(kSimdOnly, query) != nullptr     ? OpSelection::kSimd
                          : find_kernel(kProductsOnly, query) != nullptr ? OpSelection::kProducts
                          : find_kernel(kNarrowOnly, query) != nullptr   ? OpSelection::kNarrow
                                                                         : OpSelection::kReference);
}

// A backend that takes no step but records every step that it is asked about.
class Recorder final : public Backend {
 public:
  explicit Recorder(OpSelection& selection) : selection_(selection) {}
  const char* name() const override { return "recorder"; }
  bool supports(const KernelQuery& query) override {
    record(selection_, query);
    return false;
  }
  Result<Owned<Partition>> compile(const PartitionSpec&, Allocator&) override {
    return Status(Code::kInternal, "the recorder takes no steps");
  }

 private:
  OpSelection& selection_;
};

// What is evaluated while binding is no step, but looks for a kernel, too: a set without any that
// records who asks. match() gets the query alone, so that this is where it finds the selection.
WICK_THREAD_LOCAL OpSelection* t_recorded = nullptr;

class RecordingSet {
 public:
  explicit RecordingSet(OpSelection& selection) { t_recorded = &selection; }
  ~RecordingSet() { t_recorded = nullptr; }
  RecordingSet(const RecordingSet&) = delete;
  RecordingSet& operator=(const RecordingSet&) = delete;
  Status init() {
    for (const OpInfo& op : all_ops()) WICK_TRY(entries_.push_back({op.id, &kRows}));
    set_.entries = entries_;
    return {};
  }
  const KernelSet* set() const { return &set_; }

 private:
  static constexpr KernelRow kRow = {"recorder",
                                     0,
                                     [](const KernelQuery& query) {
                                       record(*t_recorded, query);
                                       return false;
                                     },
                                     nullptr,
                                     nullptr,
                                     nullptr};
  static constexpr Span<const KernelRow> kRows = {&kRow, 1};
  Array<KernelEntry> entries_{default_allocator()};
  KernelSet set_ = {"recorder", {}};
};

// Counts the nodes of an entry point's body that a session has planned for: those behind them are
// planned once values are known.
class Planned final : public ExplainHook {
 public:
  explicit Planned(const RegionDef& body) : nodes_(body.nodes) {}
  void on_step(const PlacedStep& step) override {
    if (step.region != 0 || count_ == nodes_.size()) return;
    const NodeDef& node = nodes_[count_];
    if (step.op != node.info->name || step.node != node.name)
      return;  // told again by a later stage
    ++count_;
    runs_ = step.index >= 0;
  }
  // The last one may be the first that is not planned.
  size_t count() const { return count_ > 0 && !runs_ ? count_ - 1 : count_; }

 private:
  Span<const NodeDef> nodes_;
  size_t count_ = 0;
  bool runs_ = true;
};

// Opens one entry point with every symbol bound to `extent`, or to the nearest allowed value,
// except those that `given` binds. `planned` becomes the most nodes that a session planned for.
Status try_sizes(const Program& program, const EntryDef& entry, int64_t extent,
                 Span<const DimBinding> given, OpSelection& selection, size_t* planned) {
  Array<DimBinding> dims(default_allocator());
  for (const SymbolDef& s : program.symbols()) {
    int64_t n = extent;
    for (const DimBinding& d : given)
      if (strcmp(d.symbol, s.name) == 0) n = d.extent;
    WICK_TRY(dims.push_back({s.name, n < s.min ? s.min : n > s.max ? s.max : n}));
  }
  Recorder recorder(selection);
  RecordingSet recording(selection);
  WICK_TRY(recording.init());
  const KernelSet* const sets[] = {recording.set(), &kCpuKernels, &kReferenceKernels};
  SessionOptions options;
  options.entry = entry.name;
  options.threads = 1;
  options.backend = &recorder;
  options.kernels = sets;
  options.max_dims = dims;
  WICK_ASSIGN(const auto session, Session::create(program, options));
  Planned hook(entry.body());
  if (session->explain(hook).ok() && hook.count() > *planned) *planned = hook.count();
  return {};
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

}  // namespace

void OpSelection::add(OpId op, Sets sets) {
  Sets& s = chosen_[static_cast<size_t>(op)];
  s = static_cast<Sets>(s | sets);
}

namespace {

struct NamedActivation {
  Activation act;
  const char* name;
};
constexpr NamedActivation kNamedActivations[] = {
#define WICK_ACTIVATION(Name) {Activation::k##Name, #Name},
    WICK_ACTIVATIONS(WICK_ACTIVATION)
#undef WICK_ACTIVATION
};
constexpr uint32_t bit_of(Activation act) {
  return uint32_t{1} << static_cast<int>(factor_of(act));
}

}  // namespace

OpSelection::Text OpSelection::activations() const {
  Text t;
  int at = snprintf(t.text, sizeof(t.text), "activations=");
  const int first = at;
  for (const NamedActivation& a : kNamedActivations) {
    if (said_ && (activations_ & bit_of(a.act)) == 0) continue;
    at += snprintf(t.text + at, sizeof(t.text) - static_cast<size_t>(at), "%s%s",
                   at == first ? "" : ",", a.name);
  }
  if (at == first) snprintf(t.text + at, sizeof(t.text) - static_cast<size_t>(at), "none");
  return t;
}

bool OpSelection::add_activations(const char* text) {
  constexpr char kHead[] = "activations=";
  if (strncmp(text, kHead, strlen(kHead)) != 0) return false;
  uint32_t bits = 0;
  for (const char* name = text + strlen(kHead);; ++name) {
    const size_t n = strcspn(name, ",");
    bool known = n == 4 && memcmp(name, "none", n) == 0;
    for (const NamedActivation& a : kNamedActivations) {
      if (strlen(a.name) != n || memcmp(a.name, name, n) != 0) continue;
      bits |= bit_of(a.act);
      known = true;
    }
    if (!known) return false;
    name += n;
    if (*name == '\0') break;
  }
  activations_ |= bits;
  said_ = true;
  return true;
}

Status OpSelection::add(const Program& program, Span<const DimBinding> dims) {
  said_ = true;
  for (const EntryDef& entry : program.entries()) {
    bool opened = false;
    size_t planned = 0;
    Status last;
    for (int64_t extent : {1, 2, 5, 16, 128}) {
      last = try_sizes(program, entry, extent, dims, *this, &planned);
      opened = opened || last.ok();
    }
    if (!opened) return annotate(last, "entry %.60s: ", entry.name);
    for (const RegionDef& region : entry.regions) {
      const size_t seen = &region == &entry.body() ? planned : 0;
      for (size_t i = 0; i < region.nodes.size(); ++i) {
        const OpId op = region.nodes[i].op;
        activations_ |= bit_of(activation_of(op, region.nodes[i].attrs));
        if (region_count(op) == 0 && (i >= seen || of(op) == kNone)) add(op, kAny);
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
  if (add_activations(text)) return true;
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
  fprintf(f, "\n#define WICK_SELECTED_ACTIVATIONS(X)");
  for (const NamedActivation& a : kNamedActivations) {
    if (!said_ || (activations_ & bit_of(a.act)) != 0) fprintf(f, " X(%s)", a.name);
  }
  fprintf(f, "\n#include \"runtime/kernels/selected_ops.h\"\n");
  const bool ok = ferror(f) == 0;
  return fclose(f) == 0 && ok;
}

}  // namespace wick
