// TreeEnsemble and LookUp. A row's weights are added tree after tree, in the order of the roots,
// and within a leaf in the order of its entries.
#include "runtime/kernels/trees.h"

#include "runtime/core/byte_count.h"
#include "runtime/core/string_ref.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/rows.h"
#include "runtime/ops/attrs.h"

namespace wick {

TreeTables::TreeTables(Span<const TensorView> in, int64_t n_targets)
    : nodes(in[1].as<int32_t>()),
      roots(in[3].as<int32_t>()),
      starts(in[4].as<int32_t>()),
      targets(in[5].as<int32_t>()),
      node_count(in[1].shape[0]),
      tree_count(in[3].numel()),
      leaf_count(in[4].numel() - 1),
      entry_count(in[5].numel()),
      features(in[0].shape[1]),
      target_count(n_targets) {}

namespace {

// Returns whether `at` is a leaf, or a node from `first` on.
bool leads_on(const TreeTables& t, int32_t at, int64_t first) {
  return at < 0 ? -1 - int64_t{at} < t.leaf_count : at >= first && at < t.node_count;
}

Status bad_node(int64_t i, const char* what, int32_t is, const char* why) {
  return error(Code::kInvalidArgument, "node %lld has %s %d: %s", static_cast<long long>(i), what,
               static_cast<int>(is), why);
}

}  // namespace

Status TreeTables::check() const {
  Poll poll;
  for (int64_t i = 0; i < node_count && !poll(4); ++i) {
    const int32_t* n = nodes + 4 * i;
    if (n[0] < 0 || n[0] >= features) {
      return error(Code::kInvalidArgument, "node %lld compares feature %d, a row has %lld",
                   static_cast<long long>(i), static_cast<int>(n[0]),
                   static_cast<long long>(features));
    }
    if (n[1] < 0 || n[1] > 15) return bad_node(i, "the relations", n[1], "they are four bits");
    for (int k = 2; k < 4; ++k) {
      if (!leads_on(*this, n[k], i + 1))
        return bad_node(i, "the child", n[k], "children are leaves, or nodes after their parent");
    }
  }
  for (int64_t i = 0; i < tree_count && !poll(); ++i) {
    if (!leads_on(*this, roots[i], 0)) {
      return error(Code::kInvalidArgument, "root %lld is %d: there are %lld nodes and %lld leaves",
                   static_cast<long long>(i), static_cast<int>(roots[i]),
                   static_cast<long long>(node_count), static_cast<long long>(leaf_count));
    }
  }
  for (int64_t i = 0; i <= leaf_count && !poll(); ++i) {
    if (starts[i] < 0 || starts[i] > entry_count || (i > 0 && starts[i] < starts[i - 1])) {
      return error(Code::kInvalidArgument,
                   "leaf start %lld is %d: they ascend, up to the %lld entries",
                   static_cast<long long>(i), static_cast<int>(starts[i]),
                   static_cast<long long>(entry_count));
    }
  }
  for (int64_t i = 0; i < entry_count && !poll(); ++i) {
    if (targets[i] < 0 || targets[i] >= target_count) {
      return error(Code::kInvalidArgument, "entry %lld has target %d, there are %lld",
                   static_cast<long long>(i), static_cast<int>(targets[i]),
                   static_cast<long long>(target_count));
    }
  }
  return {};
}

namespace {

using namespace reference;  // NOLINT: shared by this folder

template <class T>
bool goes_on(T x, T split, int32_t relations) {
  const TreeRelation is = x < split    ? TreeRelation::kLess
                          : x == split ? TreeRelation::kEqual
                          : x > split  ? TreeRelation::kGreater
                                       : TreeRelation::kUnordered;
  return (relations & static_cast<int32_t>(is)) != 0;
}

// Returns the leaf that a row comes to, and counts the nodes on the way since it last asked whether
// the run is to end; any leaf, there is one, if it is.
template <class T>
int32_t leaf_of(const TreeTables& t, const T* splits, const T* x, int32_t at, Poll& poll,
                int64_t* steps) {
  constexpr int64_t kSteps = 4096;  // a file's tree may be a chain of millions
  while (at >= 0) {
    const int32_t* n = t.nodes + 4 * int64_t{at};
    at = goes_on(x[n[0]], splits[at], n[1]) ? n[2] : n[3];
    if (++*steps < kSteps) continue;
    if (poll(*steps)) return 0;
    *steps = 0;
  }
  return -1 - at;
}

bool keeps_extremes(const void* attrs) {
  const auto how = static_cast<const TreeEnsembleAttrs*>(attrs)->aggregate_function;
  return how >= static_cast<int64_t>(TreeAggregate::kMin);
}

Status plan_trees(const KernelQuery& q, KernelPlan* plan) {
  // The scratch says whether a target has a weight yet, which its least or greatest one must know.
  if (keeps_extremes(q.attrs))
    plan->scratch_bytes = byte_count(static_cast<uint64_t>(q.out[0].numel()));
  return {};
}

template <class T>
Status run_trees(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& a = *static_cast<const TreeEnsembleAttrs*>(attrs);
  const auto how = static_cast<TreeAggregate>(a.aggregate_function);
  const TreeTables t(in, a.n_targets);
  WICK_TRY(t.check());
  if (stopped()) return {};
  const T *splits = in[2].as<T>(), *weights = in[6].as<T>();
  auto* seen = static_cast<uint8_t*>(ctx.scratch);
  const int64_t rows = in[0].shape[0], m = a.n_targets;
  parallel_items(ctx.pool, rows, 8 * t.tree_count + m, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t row = begin; row < end; ++row) {
      const T* x = in[0].as<T>() + row * t.features;
      T* y = out[0].as<T>() + row * m;
      uint8_t* has = keeps_extremes(attrs) ? seen + row * m : nullptr;
      for (int64_t k = 0; k < m; ++k) y[k] = 0;
      for (int64_t k = 0; k < m && has != nullptr; ++k) has[k] = 0;
      for (int64_t tree = 0; tree < t.tree_count; ++tree) {
        int64_t steps = 1;
        const int32_t leaf = leaf_of(t, splits, x, t.roots[tree], poll, &steps);
        for (int32_t e = t.starts[leaf]; e < t.starts[leaf + 1]; ++e, ++steps) {
          const int32_t k = t.targets[e];
          const T w = weights[e];
          if (has == nullptr) {
            y[k] += w;
          } else if (has[k] == 0 || (how == TreeAggregate::kMin ? w < y[k] : w > y[k])) {
            y[k] = w;
            has[k] = 1;
          }
        }
        if (poll(steps)) return;
      }
      if (how != TreeAggregate::kAverage) continue;
      for (int64_t k = 0; k < m; ++k) y[k] /= static_cast<T>(t.tree_count);
    }
  });
  return {};
}

// The order of keys: -0 and +0 are one key, NaN is above all others and equals itself.
template <class T>
bool key_before(const T& a_value, const T& b_value) {
  if constexpr (std::is_same_v<T, StringRef>) {
    return a_value < b_value;
  } else {
    const auto a = static_cast<Compute<T>>(a_value), b = static_cast<Compute<T>>(b_value);
    return a < b || (a == a && b != b);
  }
}

template <class T>
Status check_keys(const TensorView& keys) {
  Poll poll;
  const T* k = keys.as<T>();
  for (int64_t i = 1, n = keys.numel(); i < n && !poll(4); ++i) {
    if (!key_before(k[i - 1], k[i]))
      return error(Code::kInvalidArgument, "key %lld is not above the one before it",
                   static_cast<long long>(i));
  }
  return {};
}

struct KeysPlan {
  bool checked;
};

// Keys that are there already are checked once.
template <class T>
Status plan_look_up(const KernelQuery& q, KernelPlan* plan) {
  const bool there = q.in[1].data != nullptr && q.in[1].contiguous();
  if (there) WICK_TRY(check_keys<T>(q.in[1]));
  plan->keep(KeysPlan{there && !stopped()});
  return {};
}

template <class T>
Status run_look_up(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  if (!ctx.plan->kept<KeysPlan>().checked) WICK_TRY(check_keys<T>(in[1]));
  if (stopped()) return {};
  const T *x = in[0].as<T>(), *keys = in[1].as<T>();
  auto* y = out[0].as<int64_t>();
  const int64_t n = in[1].numel();
  parallel_items(ctx.pool, in[0].numel(), 32, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t i = begin; i < end && !poll(32); ++i) {
      int64_t lo = 0, hi = n;
      while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (key_before(keys[mid], x[i]))
          lo = mid + 1;
        else
          hi = mid;
      }
      y[i] = lo < n && !key_before(x[i], keys[lo]) ? lo : -1;
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(TreeEnsemble,
              {"trees.f32.ref", kContiguous, match<float>, plan_trees, nullptr, run_trees<float>},
              {"trees.f64.ref", kContiguous, match<double>, plan_trees, nullptr,
               run_trees<double>});

WICK_REF_ROWS(LookUp,
              WICK_NUMBER_ROWS("look_up", kContiguous, match<T>, plan_look_up<T>, run_look_up<T>),
              {"look_up.string.ref", kContiguous, match<StringRef>, plan_look_up<StringRef>,
               nullptr, run_look_up<StringRef>});
WICK_NO_CPU_ROWS(LookUp);

}  // namespace wick
