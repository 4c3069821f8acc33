// Runs the rule of one node over symbolic sizes, and closes what it leaves open.
#include <algorithm>
#include <utility>

#include "graph/ir/graph.h"
#include "graph/ir/infer.h"
#include "runtime/ops/check_attrs.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

// Gives open sizes, which depend on values, symbols of the graph; those from an earlier inference
// stay.
void close_shape(Graph& g, Value& v, SymShape shape) {
  bool keep = v.ranked && v.shape.rank() == shape.rank();
  for (int d = 0; d < shape.rank(); ++d) {
    if (is_open(shape[d])) shape[d] = keep ? v.shape[d] : g.fresh_symbol(0);
  }
  v.ranked = true;
  v.shape = shape;
}

// Puts symbols in place of integers that are not known yet: with them a rule infers at least the
// rank.
bool stand_in(Span<ValueInfo<SymDim>> in, std::vector<std::vector<SymDim>>* elements) {
  bool any = false;
  elements->assign(in.size(), {});
  int next = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    ValueInfo<SymDim>& v = in[i];
    if (v.elements != nullptr || (v.dtype != DType::kI64 && v.dtype != DType::kI32)) continue;
    if (v.rank() > 1 || !is_static(v.shape) || numel(to_static(v.shape)) > kMaxElements) continue;
    for (int64_t k = 0, count = numel(to_static(v.shape)); k < count; ++k) {
      std::string name(1, '?');
      name += std::to_string(next++);
      (*elements)[i].push_back(SymDim::symbol(name, INT32_MIN, INT32_MAX));
    }
    if ((*elements)[i].empty()) continue;
    v.elements = (*elements)[i].data();
    v.element_count = static_cast<int64_t>((*elements)[i].size());
    any = true;
  }
  return any;
}

// Computes the elements; integers that are too long to write down count as not known.
bool written_elements(const Graph& g, const Node& n, std::vector<SymDim>* elements) {
  try {
    return compute_elements(g, n, elements);
  } catch (const Error& e) {
    if (e.code() != Code::kBudgetExceeded) throw;
    return false;
  }
}

// Opens sizes of more than `most` terms. `each`: every one gets its own symbol, since rules
// subtract sizes.
void open_sizes(Span<ValueInfo<SymDim>> in, size_t most, bool each) {
  auto too_long = [&](const SymDim& d) { return d.terms().size() > most; };
  int next = 0;
  for (ValueInfo<SymDim>& v : in) {
    for (int d = 0; d < v.shape.rank(); ++d) {
      if (!too_long(v.shape[d])) continue;
      v.shape[d] = each ? SymDim::symbol("?long" + std::to_string(next++), 0, INT32_MAX)
                        : dim_open(v.shape[d]);
    }
    if (v.elements == nullptr) continue;
    if (std::any_of(v.elements, v.elements + v.element_count, too_long)) {
      v.elements = nullptr;
      v.element_count = 0;
    }
  }
}

// If a list whose length only running tells leaves every size open, an op that only changes sizes
// still has its input's rank; Unsqueeze adds as many dims as there are axes.
bool keep_rank(const Graph& g, const Node& n, ValueInfo<SymDim>& out) {
  int more = 0;
  if (n.op == OpId::kUnsqueeze) {
    const SymShape* axes = n.inputs.size() > 1 ? &g.value(n.inputs[1]).shape : nullptr;
    if (axes == nullptr || axes->rank() != 1 || !(*axes)[0].known()) return false;
    more = static_cast<int>((*axes)[0].constant());
  } else if (kind_of(n.op) == OpKind::kReduce) {
    if (n.attrs.as<ReduceAttrs>().keepdims == 0) return false;
  } else if (n.op != OpId::kSlice && n.op != OpId::kPad && n.op != OpId::kResize) {
    return false;
  }
  const Value& x = g.value(n.inputs[0]);
  if (more > kMaxRank - x.shape.rank()) return false;
  out.dtype = x.dtype;
  out.shape = x.shape;
  for (int d = 0; d < more; ++d) out.shape.push_back(SymDim(1));
  for (int d = 0; d < out.shape.rank(); ++d) out.shape[d] = dim_open(out.shape[d]);
  return true;
}

// Runs the rule of a node. A size that grows beyond what can be written down is no error but open:
// the rule is run again with the long input sizes opened, then with all that are not numbers; at
// last, for a rule that only adds them, all are the same open size.
bool run_rule(const Node& n, Span<ValueInfo<SymDim>> in, std::vector<ValueInfo<SymDim>>& out,
              bool* opened) {
  const std::vector<ValueInfo<SymDim>> given(in.begin(), in.end());
  const int attempts = n.op == OpId::kConcat ? 4 : 3;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0) {
      std::copy(given.begin(), given.end(), in.begin());
      open_sizes(in, attempt == 1 ? 1 : 0, attempt < 3);
      out.assign(out.size(), {});
      *opened = true;
    }
    try {
      return infer_symbolic(n.op, n.attrs.get(), in, out);
    } catch (const Error& e) {
      if (e.code() != Code::kBudgetExceeded || attempt + 1 == attempts) throw;
    }
  }
  return false;
}

// RuleInputs is what a rule reads of a node's inputs.
struct RuleInputs {
  std::vector<ValueInfo<SymDim>> in;
  std::vector<DType> dtypes;
  std::vector<SymDim> reals;  // of the one input whose reals an op reads
  bool ranked = true;

  RuleInputs(const Graph& g, const Node& n)
      : in(n.inputs.size()), dtypes(n.inputs.size(), DType::kNone) {
    for (size_t i = 0; i < in.size(); ++i) {
      if (n.inputs[i] == kNoValue) continue;
      const Value& v = g.value(n.inputs[i]);
      ranked = ranked && v.ranked;
      dtypes[i] = in[i].dtype = v.dtype;
      in[i].shape = v.shape;
      if (v.has_elements) {
        // A rank-1 tensor of no elements still needs an address.
        static const SymDim kNothing;
        in[i].elements = v.elements.empty() ? &kNothing : v.elements.data();
        in[i].element_count = static_cast<int64_t>(v.elements.size());
      } else if (v.origin == ValueOrigin::kConstant &&
                 holds_reals(n.op, i, v.dtype, v.shape.rank()) &&
                 v.constant.numel() <= kMaxElements) {
        for (int64_t k = 0; k < v.constant.numel(); ++k)
          reals.emplace_back(real_bits_at(v.dtype, v.constant.data(), k));
        reals.reserve(1);
        in[i].elements = reals.data();
        in[i].element_count = v.constant.numel();
      }
    }
  }
};

// `known`: the types are known; `guessed`: they come from less than the rule asks for.
struct RuleResult {
  std::vector<ValueInfo<SymDim>> out;
  bool known = false, guessed = false;
};

RuleResult apply_rule(const Graph& g, const Node& n, RuleInputs& given) {
  RuleResult r;
  r.out.resize(n.outputs.size());
  if (!given.ranked) return r;
  r.known = run_rule(n, given.in, r.out, &r.guessed);
  std::vector<std::vector<SymDim>> elements;
  if (!r.known && stand_in(given.in, &elements)) {
    r.known = r.guessed = infer_symbolic(n.op, n.attrs.get(), given.in, r.out);
  }
  if (!r.known) r.known = r.guessed = keep_rank(g, n, r.out[0]);
  return r;
}

void store_types(Graph& g, const Node& n, const RuleResult& r, Span<const DType> dtypes) {
  for (size_t i = 0; i < r.out.size(); ++i) {
    Value& v = g.value(n.outputs[i]);
    v.dtype = r.known ? r.out[i].dtype : output_dtype(n.op, n.attrs.get(), dtypes, i);
    if (!r.known && !v.declared) v.ranked = false;
    if (r.known && !v.declared) {
      SymShape shape = r.out[i].shape;
      int open = data_dependent_axis(n.op, n.attrs.get(), i, shape.rank());
      if (open >= 0) shape[open] = dim_open(shape[open]);
      close_shape(g, v, shape);
    }
    if (!v.ranked) v.shape = SymShape();
    v.has_elements = false;
    v.elements.clear();
  }
}

// Stores the integers of a node's only output, from its rule or from its inputs' integers.
void store_elements(Graph& g, const Node& n, const RuleResult& r) {
  if (n.outputs.size() != 1 || r.guessed || !r.known) return;
  const ValueInfo<SymDim>& made = r.out[0];
  std::vector<SymDim> elements;
  if (made.elements != nullptr && made.element_count <= kMaxElements &&
      (made.dtype == DType::kI64 || made.dtype == DType::kI32)) {
    elements.assign(made.elements, made.elements + made.element_count);
  } else if (!written_elements(g, n, &elements)) {
    return;
  }
  g.value(n.outputs[0]).has_elements = true;
  g.value(n.outputs[0]).elements = std::move(elements);
}

}  // namespace

void Graph::infer(NodeId id) {
  const Node& n = node(id);
  const OpInfo* info = op_info(n.op);
  node(id).attrs.fill(info->attrs->size);
  RuleInputs given(*this, n);
  RuleResult made;
  try {
    // This comes before anything reads them: without shapes no rule runs, and dtypes depend on
    // them.
    if (Status s = check_attrs(*info, n.attrs.get(), n.inputs.size()); !s.ok())
      throw Error(s.message());
    if (info->role == OpRole::kControl) return infer_control(*this, id);
    if (has_container(*this, n)) return infer_container(*this, id);
    made = apply_rule(*this, n, given);
  } catch (const Error& e) {
    throw Error("[" + std::string(info->name) + "] " + e.what() +
                (n.name.empty() ? "" : " in " + n.name) +
                (n.source.file.empty() ? "" : " (" + n.source.text() + ")"));
  }
  store_types(*this, n, made, given.dtypes);
  store_elements(*this, n, made);
}

}  // namespace wick::ir
