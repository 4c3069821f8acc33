#include "tools/wick/page/page_data.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/ops/attrs/conv.h"
#include "runtime/ops/op_cost.h"
#include "runtime/registry/registry.h"
#include "tools/lib/arrays.h"
#include "tools/wick/json.h"
#include "tools/wick/weight_stats.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using nlohmann::json;

constexpr int64_t kExact = int64_t{1} << 53;  // larger numbers would be rounded in a page

json number(int64_t v) { return v > kExact || v < -kExact ? json(std::to_string(v)) : json(v); }
json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

json numbers(const Shape& shape) {
  json list = json::array();
  for (int64_t d : shape) list.push_back(d);
  return list;
}

// Numbers that stand for something are shown by name.
json attribute(const char* name, int64_t v) {
  static const char* const kActivations[] = {"none",
                                             "relu",
                                             "clip",
                                             "leaky relu",
                                             "sigmoid",
                                             "tanh",
                                             "silu",
                                             "hard swish",
                                             "gelu (erf)",
                                             "gelu (tanh)",
                                             "hard sigmoid",
                                             "times sigmoid",
                                             "times hard sigmoid"};
  static_assert(std::size(kActivations) == static_cast<size_t>(Activation::kLast) + 1);
  const std::string field = name;
  if (field == "activation" && v >= 0 && v < static_cast<int64_t>(std::size(kActivations)))
    return kActivations[v];
  if ((field == "to" || field == "dtype") && v > 0 && v < kDTypeCount)
    return dtype_name(static_cast<DType>(v));
  return number(v);
}

json attributes(const NodeDef& n) {
  if (n.info == nullptr || n.attrs == nullptr) return json::object();
  return attributes_of(*n.info->attrs, n.attrs);
}

std::string type_name(const ValueDef& v) {
  if (!is_container(v.dtype)) return dtype_name(v.dtype);
  const std::string of = std::string("<") + dtype_name(v.element) + ">";
  return v.dtype == DType::kOptionalSequence ? "optional<sequence" + of + ">"
                                             : dtype_name(v.dtype) + of;
}

// Many models are called model.onnx: the folder says which one it is.
std::string short_name(const std::string& path) {
  const auto whole = std::filesystem::path(path).lexically_normal();
  std::string name = whole.filename().string();
  if (whole.stem() == "model" && whole.has_parent_path())
    name = whole.parent_path().filename().string() + "/" + name;
  return name;
}

// The program has the graph's nodes in order, plus copies for some outputs at its end.
template <class F>
void each_pair(const RegionDef& def, const ir::Graph& g, const F& f) {
  size_t at = 0;
  for (const ir::Node& from : g.nodes()) {
    if (from.removed()) continue;
    if (at == def.nodes.size()) return;
    f(at, from, def.nodes[at]);
    ++at;
  }
}

void find_origins(const EntryDef& entry, uint32_t region, const ir::Graph& g, NodeOrigins* all) {
  each_pair(entry.regions[region], g, [&](size_t at, const ir::Node& from, const NodeDef& to) {
    (*all)[{region, at}] = {from.module, from.source.text()};
    for (size_t k = 0; k < from.regions.size() && k < to.regions.size(); ++k)
      find_origins(entry, to.regions[k], from.regions[k], all);
  });
}

class PageData {
 public:
  explicit PageData(const PageSource& s)
      : s_(s),
        p_(s.model->program()),
        entry_(s.entry != nullptr ? *s.entry : p_.entries()[0]),
        values_(entry_.values.size()),
        origins_(of_graph() ? node_origins(*s.model) : NodeOrigins()) {}

  json make() {
    find_extents();
    if (of_graph()) add_graph(0, *s_.model->compiled());
    find_shapes();
    json doc = {{"model", about()},     {"symbols", symbols()},   {"values", values()},
                {"regions", regions()}, {"nodes", json::array()}, {"constants", constants()},
                {"sizes", sizes()}};
    for (size_t r = 0; r < entry_.regions.size(); ++r) {
      for (size_t i = 0; i < entry_.regions[r].nodes.size(); ++i)
        doc["nodes"].push_back(node(r, i));
    }
    if (!s_.run_ms.empty()) {
      const auto& ms = s_.run_ms;
      doc["profile"] = {{"runs", ms.size()},
                        {"threads", s_.threads},
                        {"made_inputs", s_.made_inputs},
                        {"median_ms", ms[ms.size() / 2]},
                        {"min_ms", ms.front()}};
    }
    return doc;
  }

 private:
  // Returns whether the entry point is the one that a graph was compiled to.
  bool of_graph() const { return s_.model->compiled() && &entry_ == &p_.entries()[0]; }

  // Known is what is known of a value besides its row in the program.
  struct Known {
    const SymShape* symbolic = nullptr;  // a program has no place for sizes that are expressions
    bool sized = false;
    Shape shape;  // in this binding
  };

  void find_extents() {
    extents_.assign(p_.symbols().size(), -1);
    const auto inputs = entry_.body().inputs;
    for (size_t i = 0; i < s_.inputs.size() && i < inputs.size(); ++i) {
      const ValueDef& v = entry_.values[inputs[i]];
      for (size_t k = 0; k < v.dims.size(); ++k) {
        if (v.dims[k].symbol < 0) continue;
        const auto at = static_cast<size_t>(v.dims[k].symbol);
        extents_[at] = s_.inputs[i][static_cast<int>(k)];
        extent_of_[p_.symbols()[at].name] = extents_[at];
      }
    }
  }

  void add_graph(uint32_t region, const ir::Graph& g) {
    const RegionDef& def = entry_.regions[region];
    for (size_t i = 0; i < g.inputs().size() && i < def.inputs.size(); ++i)
      give(def.inputs[i], g.value(g.inputs()[i]));
    each_pair(def, g, [&](size_t, const ir::Node& from, const NodeDef& to) {
      for (size_t k = 0; k < from.outputs.size() && k < to.outputs.size(); ++k)
        give(to.outputs[k], g.value(from.outputs[k]));
      for (size_t k = 0; k < from.regions.size() && k < to.regions.size(); ++k)
        add_graph(to.regions[k], from.regions[k]);
    });
  }
  void give(uint32_t id, const ir::Value& v) {
    if (v.ranked && !v.no_elements) values_[id].symbolic = &v.shape;
  }

  void find_shapes() {
    for (const RegionDef& region : entry_.regions) {
      for (const NodeDef& n : region.nodes) {
        const NodeTimes::Step* step = s_.times != nullptr ? s_.times->find(n) : nullptr;
        for (size_t k = 0; step != nullptr && k < step->in.size() && k < n.inputs.size(); ++k)
          set_shape(n.inputs[k], step->in[k]);
        for (size_t k = 0; step != nullptr && k < step->out.size() && k < n.outputs.size(); ++k)
          set_shape(n.outputs[k], step->out[k]);
      }
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      const ValueDef& v = entry_.values[i];
      if (v.constant != kNoIndex) set_shape(i, p_.constants()[v.constant].view.shape);
      if (!values_[i].sized) evaluate(i);
    }
  }
  void set_shape(size_t id, const Shape& shape) {
    if (id < values_.size() && !is_container(entry_.values[id].dtype))
      values_[id] = {values_[id].symbolic, true, shape};
  }
  void evaluate(size_t id) {
    Shape shape;
    const ValueDef& v = entry_.values[id];
    if (is_container(v.dtype)) return;
    if (values_[id].symbolic != nullptr) {
      auto extent = [&](const std::string& name) {
        auto known = extent_of_.find(name);
        return known == extent_of_.end() ? int64_t{-1} : known->second;
      };
      try {
        for (const SymDim& d : *values_[id].symbolic) shape.push_back(d.evaluate(extent));
      } catch (const Error&) {  // only a run tells it
        return;
      }
    } else {
      if (v.unranked) return;
      for (const DimDef& d : v.dims) {
        const int64_t n = d.symbol < 0 ? d.value : extents_[static_cast<size_t>(d.symbol)];
        if (n < 0) return;
        shape.push_back(n);
      }
    }
    set_shape(id, shape);
  }

  json about() const {
    const Model& m = *s_.model;
    const ProvenanceDef& p = p_.provenance();
    json doc = {{"path", s_.title},
                {"name", short_name(s_.title)},
                {"compiled", m.compiled().has_value()},
                {"file_bytes", m.file_bytes()},
                {"weight_bytes", p_.weight_bytes()},
                {"growing", entry_.growing},
                {"load_ms", m.load_ms()},
                {"labels", json::array()},
                {"metadata", json::object()},
                {"wick", WICK_VERSION}};
    std::string digest;
    for (uint8_t b : p.weights_sha256) {
      digest += "0123456789abcdef"[b >> 4];
      digest += "0123456789abcdef"[b & 15];
    }
    doc["weights_sha256"] = digest;
    doc["numerics"] = p.numerics == NumericsClass::kExact          ? "exact"
                      : p.numerics == NumericsClass::kReassociates ? "reassociates"
                                                                   : "approximates";
    doc["source"] = p.source;
    if (p_.entries().size() > 1) {
      doc["entry"] = entry_.name;
      for (const EntryDef& e : p_.entries()) {
        if (&e != &entry_) doc["other_entries"].push_back(e.name);
      }
    }
    for (const char* label : p_.labels()) doc["labels"].push_back(label);
    for (const KeyValueDef& kv : p_.metadata()) doc["metadata"][kv.key] = kv.value;
    return doc;
  }

  json symbols() const {
    json list = json::array();
    for (size_t i = 0; i < p_.symbols().size(); ++i) {
      const SymbolDef& s = p_.symbols()[i];
      list.push_back({{"name", s.name}, {"min", number(s.min)}, {"max", number(s.max)}});
      if (extents_[i] >= 0) list.back()["now"] = extents_[i];
    }
    return list;
  }

  // Has `shape` as texts and `now` as numbers, if the binding or the run gives them.
  json values() const {
    json list = json::array();
    for (size_t i = 0; i < values_.size(); ++i) {
      const ValueDef& v = entry_.values[i];
      json doc = {{"name", v.name}, {"type", type_name(v)}};
      if (values_[i].symbolic != nullptr) {
        doc["shape"] = json::array();
        for (const SymDim& d : *values_[i].symbolic) doc["shape"].push_back(d.text());
      } else if (!v.unranked && !is_container(v.dtype)) {
        doc["shape"] = json::array();
        for (const DimDef& d : v.dims)
          doc["shape"].push_back(d.symbol < 0 ? std::to_string(d.value)
                                              : p_.symbols()[static_cast<size_t>(d.symbol)].name);
      }
      if (values_[i].sized) {
        doc["now"] = numbers(values_[i].shape);
        doc["bytes"] = TensorView(nullptr, v.dtype, values_[i].shape).nbytes();
      }
      if (v.constant != kNoIndex) doc["constant"] = v.constant;
      list.push_back(std::move(doc));
    }
    return list;
  }

  json regions() const {
    json list = json::array();
    for (const RegionDef& r : entry_.regions)
      list.push_back({{"inputs", ids(r.inputs)}, {"outputs", ids(r.outputs)}});
    return list;
  }
  static json ids(Span<const uint32_t> from) {
    json list = json::array();
    for (uint32_t v : from) list.push_back(v == kNoIndex ? json(-1) : json(v));
    return list;
  }

  json node(size_t region, size_t at) const {
    const NodeDef& n = entry_.regions[region].nodes[at];
    json doc = {{"op", op_text(p_, n)},      {"name", n.name},
                {"region", region},          {"inputs", ids(n.inputs)},
                {"outputs", ids(n.outputs)}, {"attributes", attributes(n)}};
    if (n.op == OpId::kFusedElementwise) {
      const auto& chain = *static_cast<const ChainAttrs*>(n.attrs);
      doc["attributes"] = {{"steps", chain_text(chain)}};
    }
    if (!n.regions.empty()) doc["regions"] = ids(n.regions);
    add_origin(origins_, region, at, doc);
    if (double flops = 2 * op_macs(n.op, n.attrs, shapes(n.inputs), shapes(n.outputs)); flops > 0)
      doc["flops"] = flops;
    const NodeTimes::Step* step = s_.run_ms.empty() ? nullptr : s_.times->find(n);
    if (step != nullptr) {
      doc["ms"] = step->ms(s_.run_ms.size());
      doc["kernel"] = step->kernel;
      doc["times"] = static_cast<double>(step->ns.size()) / static_cast<double>(s_.run_ms.size());
    }
    return doc;
  }
  // Returns nothing if one of them is not known.
  std::vector<Shape> shapes(Span<const uint32_t> list) const {
    std::vector<Shape> known;
    for (uint32_t v : list) {
      if (v != kNoIndex && !values_[v].sized) return {};
      known.push_back(v == kNoIndex ? Shape{} : values_[v].shape);
    }
    return known;
  }

  json constants() const {
    json list = json::array();
    for (const ConstantDef& k : p_.constants()) {
      json doc = {{"name", k.name},
                  {"type", dtype_name(k.view.dtype)},
                  {"shape", numbers(k.view.shape)},
                  {"elements", k.view.numel()},
                  {"bytes", k.view.nbytes()}};
      if (k.source != nullptr) check(k.source->fill(), k.name);
      const WeightStats s = weight_stats(k.view);
      if (s.known) {
        doc["min"] = number(s.min);
        doc["max"] = number(s.max);
        doc["mean"] = number(s.mean);
        doc["std"] = number(s.std);
        doc["zeros"] = s.zeros;
        doc["nans"] = s.nans;
        doc["infinities"] = s.infinities;
      }
      if (k.view.numel() >= kHistogramFrom) doc["histogram"] = s.histogram;
      if (k.view.numel() <= kListed && (s.known || k.view.dtype == DType::kString))
        doc["values"] =
            preview_json(HostTensor(k.view.dtype, k.view.shape, k.view.data, k.view.nbytes()));
      list.push_back(std::move(doc));
    }
    return list;
  }

  json sizes() const {
    if (s_.inputs.empty() && !s_.no_sizes.empty()) return {{"unknown", s_.no_sizes}};
    return {{"arena_bytes", s_.arena_bytes}, {"packed_bytes", s_.packed_bytes}};
  }

  static constexpr int64_t kListed = 10, kHistogramFrom = 16;
  const PageSource& s_;
  const Program& p_;
  const EntryDef& entry_;
  std::vector<Known> values_;
  std::vector<int64_t> extents_;  // by symbol; -1: not known
  std::map<std::string, int64_t> extent_of_;
  const NodeOrigins origins_;
};

}  // namespace

json attributes_of(const AttrType& type, const void* attrs) {
  json doc = json::object();
  void* bytes = const_cast<void*>(attrs);
  for (const AttrField& f : type.fields) {
    if (attr_is_default(type, f, attrs)) continue;
    if (f.kind == AttrKind::kInt) doc[f.name] = attribute(f.name, attr_int(f, bytes));
    if (f.kind == AttrKind::kFloat) doc[f.name] = number(attr_float(f, bytes));
    if (f.kind == AttrKind::kText) doc[f.name] = ir::attr_text(f, attrs);
    if (f.kind != AttrKind::kInts) continue;
    doc[f.name] = json::array();
    for (int64_t v : attr_ints(f, attrs)) doc[f.name].push_back(number(v));
  }
  return doc;
}

std::vector<std::string> chain_text(const ChainAttrs& a) {
  std::vector<std::string> text;
  for (int64_t word : a.steps.span()) {
    const ChainStep s = chain_step(word);
    std::string operands;
    for (int k = 0; k < s.what.operands; ++k) {
      const int o = s.operand[k];
      operands += k == 0 ? "" : ", ";
      operands += o >= kChainFirstStep       ? fmt::format("s{}", o - kChainFirstStep)
                  : o >= kChainFirstConstant ? fmt::format("{:.9g}", chain_constant(a, o))
                                             : fmt::format("x{}", o);
    }
    text.push_back(fmt::format("{}({}{})", find_op(s.op)->name, operands,
                               s.op != OpId::kGelu ? ""
                               : s.flag != 0       ? ", tanh"
                                                   : ", erf"));
  }
  return text;
}

std::string op_text(const Program& p, const NodeDef& n) {
  if (!is_custom(n.op)) return n.info->name;
  const CustomOpDef& def = p.custom_ops()[static_cast<size_t>(n.op) - kFirstCustomOp];
  return custom_op_name(def.domain, def.name).text;
}

NodeOrigins node_origins(const Model& model) {
  NodeOrigins all;
  if (model.compiled()) find_origins(model.program().entries()[0], 0, *model.compiled(), &all);
  return all;
}

void add_origin(const NodeOrigins& origins, size_t region, size_t at, json& node) {
  const auto found = origins.find({region, at});
  if (found == origins.end()) return;
  if (!found->second.module.empty()) node["module"] = found->second.module;
  if (!found->second.source.empty()) node["source"] = found->second.source;
}

json page_data(const PageSource& source) { return PageData(source).make(); }

}  // namespace wick::tool
