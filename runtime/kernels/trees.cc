// The SIMD row of TreeEnsemble. The tables are checked and laid out once, where they are constants:
// a node is four words in one place. A task takes a block of rows through all trees, so that a tree
// is read once for the block; every row adds its weights in the order of the trees, as the
// reference does.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/trees.cc"
#include "runtime/kernels/trees.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_TREES_BODY_
#define WICK_KERNELS_TREES_BODY_
namespace wick {

constexpr int kTreeLanes = 16;
// The nodes of a walk between two looks at whether the run is to end: a file's tree may be a chain
// of millions.
constexpr int kTreeSteps = 4096;

// The words of nodes, four each: the split; the feature times 16 plus the relations; the true
// child; the false one. Each pointer is at its word of node 0.
struct TreeWords {
  const float* splits;
  const int32_t *tests, *children;
};
using TreeBody = bool (*)(const TreeWords& words, const float* x, int64_t features, int64_t rows,
                          int32_t* at);

}  // namespace wick
#endif

#include "runtime/kernels/trees-inl.h"

#if HWY_ONCE
#include <algorithm>
#include <cstring>

namespace wick {
namespace {

HWY_EXPORT(tree_body);

constexpr int64_t kBlock = 64;  // rows of a task: constant, whatever the thread count
constexpr int64_t kNodeWords = 4;
// Words are addressed by int32, and a test holds its feature in 27 bits.
constexpr int64_t kMostNodes = int64_t{1} << 28, kMostFeatures = int64_t{1} << 26;

// The form of the tables: the nodes' words, then copies of the roots, the leaves' starts and the
// entries' targets. Splits and weights need no check; weights stay where they are.
struct Form {
  explicit Form(const TreeTables& t)
      : roots(kNodeWords * t.node_count),
        starts(roots + t.tree_count),
        targets(starts + t.leaf_count + 1),
        words(targets + t.entry_count) {}
  int64_t roots, starts, targets, words;  // offsets of 32-bit words, and their number
  uint64_t bytes() const { return sizeof(int32_t) * static_cast<uint64_t>(words); }
};

struct TreesPlan {
  TreeBody body;
  uint64_t form_bytes;  // of the room for a form in the scratch
};

TreeTables tables_of(Span<const TensorView> in, const void* attrs) {
  return {in, static_cast<const TreeEnsembleAttrs*>(attrs)->n_targets};
}
TreeAggregate how_of(const void* attrs) {
  return static_cast<TreeAggregate>(
      static_cast<const TreeEnsembleAttrs*>(attrs)->aggregate_function);
}
bool keeps_extremes(TreeAggregate how) {
  return how == TreeAggregate::kMin || how == TreeAggregate::kMax;
}

bool match(const KernelQuery& q) {
  return q.in[0].dtype == DType::kF32 && q.in[1].shape[0] <= kMostNodes &&
         q.in[0].shape[1] <= kMostFeatures;
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const TreeTables t = tables_of(q.in, q.attrs);
  const uint64_t form = (Form(t).bytes() + 63) / 64 * 64;
  p->keep(TreesPlan{HWY_DYNAMIC_DISPATCH(tree_body)(), form});
  const uint64_t seen =
      keeps_extremes(how_of(q.attrs)) ? static_cast<uint64_t>(q.out[0].numel()) : 0;
  p->scratch_bytes = byte_count(form + seen);
  // The form holds all tables, so all of them must be constants.
  for (size_t i = 2; i < q.in.size(); ++i) {
    if (q.in[i].data == nullptr && q.in[i].numel() != 0) return {};
  }
  p->packs[0] = {1, 0, byte_count(form), 0};
  return {};
}

// Returns an error where the run was ended meanwhile: a form that is not whole must not be kept.
Status not_stopped() { return stopped() ? current_stop()->status() : Status(); }

Status make_form(Span<const TensorView> in, const void* attrs, void* dst) {
  const TreeTables t = tables_of(in, attrs);
  WICK_TRY(t.check());
  WICK_TRY(not_stopped());
  const Form form(t);
  auto* bytes = static_cast<char*>(dst);
  const auto* splits = in[2].as<float>();
  Poll poll;
  for (int64_t i = 0; i < t.node_count && !poll(4); ++i) {
    const int32_t* n = t.nodes + kNodeWords * i;
    const int32_t rest[] = {n[0] * 16 + n[1], n[2], n[3]};
    char* to = bytes + sizeof(int32_t) * static_cast<size_t>(kNodeWords * i);
    memcpy(to, splits + i, sizeof(float));
    memcpy(to + sizeof(float), rest, sizeof(rest));
  }
  const auto copy = [&](int64_t at, const int32_t* from, int64_t n) {
    if (n > 0) memcpy(bytes + 4 * at, from, 4 * static_cast<size_t>(n));
  };
  copy(form.roots, t.roots, t.tree_count);
  copy(form.starts, t.starts, t.leaf_count + 1);
  copy(form.targets, t.targets, t.entry_count);
  return not_stopped();
}

Status pack(const KernelQuery& q, const KernelPlan&, int, void* dst) {
  return make_form(q.in, q.attrs, dst);
}

// Entries has what a leaf adds.
struct Entries {
  const int32_t *starts, *targets;
  const float* weights;

  // Adds the weights of a leaf to a row of sums; returns how many there are.
  int32_t add(int32_t leaf, float* y) const {
    const int32_t end = starts[leaf + 1];
    for (int32_t e = starts[leaf]; e < end; ++e) y[targets[e]] += weights[e];
    return end - starts[leaf];
  }
  int32_t keep(int32_t leaf, bool least, float* y, uint8_t* seen) const {
    const int32_t end = starts[leaf + 1];
    for (int32_t e = starts[leaf]; e < end; ++e) {
      const int32_t k = targets[e];
      const float w = weights[e];
      if (seen[k] != 0 && !(least ? w < y[k] : w > y[k])) continue;
      y[k] = w;
      seen[k] = 1;
    }
    return end - starts[leaf];
  }
};

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& [body, form_bytes] = ctx.plan->kept<TreesPlan>();
  const void* packed = ctx.packed[0];
  if (packed == nullptr) {
    WICK_TRY(make_form(in, attrs, ctx.scratch));
    packed = ctx.scratch;
  }
  const TreeTables t = tables_of(in, attrs);
  const Form form(t);
  const auto* ints = static_cast<const int32_t*>(packed);
  const TreeWords words = {static_cast<const float*>(packed), ints + 1, ints + 2};
  const Entries entries = {ints + form.starts, ints + form.targets, in[6].as<float>()};
  const TreeAggregate how = how_of(attrs);
  auto* seen = static_cast<uint8_t*>(ctx.scratch) + form_bytes;
  const int64_t rows = in[0].shape[0], m = t.target_count;
  parallel_for(ctx.pool, (rows + kBlock - 1) / kBlock, [&, body = body](int64_t task, int) {
    const int64_t first = task * kBlock, count = std::min(kBlock, rows - first);
    const float* x = in[0].as<float>() + first * t.features;
    float* y = out[0].as<float>() + first * m;
    uint8_t* has = keeps_extremes(how) ? seen + first * m : nullptr;
    std::fill(y, y + count * m, 0.0f);
    if (has != nullptr) std::fill(has, has + count * m, uint8_t{0});
    int32_t at[kBlock + kTreeLanes];  // a node, or -1 less a leaf
    Poll poll;
    for (int64_t tree = 0; tree < t.tree_count; ++tree) {
      std::fill(at, at + count + kTreeLanes, ints[form.roots + tree]);
      while (!body(words, x, t.features, count, at)) {
        if (poll(kTreeSteps * count)) return;
      }
      int64_t added = 8 * count;
      for (int64_t row = 0; row < count; ++row) {
        float* to = y + row * m;
        const int32_t leaf = -1 - at[row];
        added += has == nullptr ? entries.add(leaf, to)
                                : entries.keep(leaf, how == TreeAggregate::kMin, to, has + row * m);
      }
      if (poll(added)) return;
    }
    if (how != TreeAggregate::kAverage) return;
    for (int64_t i = 0; i < count * m; ++i) y[i] /= static_cast<float>(t.tree_count);
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(TreeEnsemble, {"trees.f32.simd", kContiguous, match, plan, pack, run});

}  // namespace wick
#endif
