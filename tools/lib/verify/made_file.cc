#include "tools/lib/verify/made_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "graph/ir/packed.h"
#include "tools/lib/products.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/verify/rows.h"

namespace wick::tool {
namespace {

constexpr double kFar =
    0.75;  // another model is apart by 1 or more, unless its outputs hardly vary

std::vector<std::string> output_names(const ir::Graph& g) {
  std::vector<std::string> names;
  for (const ir::GraphOutput& o : g.outputs()) names.push_back(o.name);
  return names;
}
std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

}  // namespace

MadeFile open_made(const std::string& path, bool lower_qdq, const std::string& entry) {
  MadeFile f;
  f.name = std::filesystem::path(path).filename().string();
  f.wick = is_wick_file(path);
  if (f.wick) {
    const Model model = Model::open(path);
    f.numerics = model.program().provenance().numerics;
    f.graph = program_graph(model.program(), entry);
  } else {
    f.graph = open_graph(path, {.lower_qdq = lower_qdq});
    const auto stated = f.graph.metadata.find(kNumericsKey);
    for (const NumericsClass c : {NumericsClass::kReassociates, NumericsClass::kApproximates}) {
      const char* name = ir::numerics_name(static_cast<ir::Numerics>(c));
      if (stated != f.graph.metadata.end() && stated->second == name) f.numerics = c;
    }
  }
  if (f.numerics == NumericsClass::kApproximates) {
    f.finite_only = "its class says nothing of NaN and infinities";
  } else if (product_counts(f.graph).winograd > 0) {
    f.finite_only = "Winograd's products make NaN of infinities";
  }
  return f;
}

ir::Graph written_again(const ir::Graph& graph, bool wick, QuantizedForm form, bool lower_qdq) {
  if (wick) return program_graph(Model::from_graph(graph, false).program());
  return import_onnx_bytes(onnx_bytes(graph, form), "", {.lower_qdq = lower_qdq});
}

std::string other_outputs(const ir::Graph& model, const ir::Graph& file) {
  std::vector<std::string> want = output_names(model), got = output_names(file);
  std::string why = fmt::format("its outputs are {}, the model's {}", list(got), list(want));
  if (want.size() != got.size()) return why;
  if (want == got) return "";
  std::sort(want.begin(), want.end());
  std::sort(got.begin(), got.end());
  return want == got ? why + ", in another order" : "";
}

namespace {

// A constant, and a node that reads it.
struct Constant {
  const ir::Value* value;
  std::string reader;
};

void add_constants(const ir::Graph& g, std::vector<Constant>* all) {
  const auto users = g.users();
  for (size_t i = 0; i < g.value_count(); ++i) {
    const ir::Value& v = g.value(static_cast<ir::ValueId>(i));
    if (v.origin != ir::ValueOrigin::kConstant || v.name.empty() || users[i].empty()) continue;
    all->push_back({&v, ir::node_text(g, users[i][0])});
  }
  for (const ir::Node& n : g.nodes()) {
    for (const ir::Graph& region : n.regions) add_constants(region, all);
  }
}

bool alike(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape();
}

HostTensor transposed(const HostTensor& t) {
  TransposeAttrs swap;
  swap.perm.values[0] = 1, swap.perm.values[1] = 0, swap.perm.count = 2;
  return ir::run_node(OpId::kTranspose, &swap, {&t, 1}, 1)[0];
}

}  // namespace

void compare_constants(const ir::Graph& file, const std::vector<const ir::Graph*>& models,
                       VerifyRow* row) {
  std::vector<Constant> made, all;
  add_constants(file, &made);
  for (const ir::Graph* model : models) add_constants(*model, &all);
  std::map<std::string, std::vector<const HostTensor*>> named;
  for (const Constant& c : all) named[c.value->name].push_back(&c.value->constant);
  for (const Constant& c : made) {
    const HostTensor& is = c.value->constant;
    const HostTensor* was = nullptr;
    bool same = false;
    for (const HostTensor* t : named[c.value->name]) {
      if (!alike(*t, is)) continue;
      was = t;
      same = same || same_bits(*t, is);
    }
    if (was == nullptr) continue;
    ++row->values;
    const HostTensor turned = is.shape().rank() == 2 && !same ? transposed(is) : HostTensor();
    for (size_t i = 0; i < all.size() && !same; ++i) {
      const HostTensor& other = all[i].value->constant;
      same = (alike(other, is) && same_bits(other, is)) ||
             (turned.present() && alike(other, turned) && same_bits(other, turned));
    }
    if (same) continue;
    row->verdict = VerifyRow::Verdict::kDiffers;
    FirstDifference f;
    f.value = c.value->name;
    f.node = "constant of " + c.reader;
    f.type = type_of(is);
    set_element(&f, *was, is, ir::apart(*was, is, ir::Promise::kBits, 0));
    row->first = std::move(f);
    return;
  }
}

void OutputSpread::add(const std::string& output, const HostTensor& want, const HostTensor& got) {
  Of& o = outputs_[output];
  if (is_container(want.dtype()) && want.dtype() == got.dtype()) {
    const Unpacked x = unpack(want), y = unpack(got);
    o.comparable = o.comparable && x.present == y.present && x.elements.size() == y.elements.size();
    for (size_t i = 0; o.comparable && i < x.elements.size(); ++i)
      add(output, x.elements[i], y.elements[i]);
    return;
  }
  if (want.dtype() != got.dtype() || !(want.shape() == got.shape())) {
    o.comparable = false;
    return;
  }
  const HostTensor wants = complex_parts(want), gots = complex_parts(got);
  o.floats = is_float(wants.dtype());
  for (int64_t i = 0; i < wants.numel(); ++i) {
    ++o.n;
    if (want.dtype() == DType::kString) {
      o.differ += want.string_at(i) == got.string_at(i) ? 0 : 1;
      continue;
    }
    const double a = element_as_double(wants, i), b = element_as_double(gots, i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    o.differ += same ? 0 : 1;
    if (!std::isfinite(a)) {
      o.apart += same ? 0 : std::numeric_limits<double>::infinity();
      continue;
    }
    o.sum += a;
    o.squares += a * a;
    o.apart += same ? 0 : (a - b) * (a - b);
  }
}

double OutputSpread::Of::measure() const {
  if (!comparable) return std::numeric_limits<double>::infinity();
  if (differ == 0) return 0;
  if (!floats) return 2 * differ / n;
  if (std::isnan(apart)) return std::numeric_limits<double>::infinity();
  constexpr double kFew = 8;  // elements, too few for a meaningful mean
  const double around = squares - sum * sum / n;
  const double spread = n < kFew || around <= 1e-12 * squares ? squares : around;
  return spread > 0 ? std::sqrt(apart / spread) : std::numeric_limits<double>::infinity();
}

void OutputSpread::judge(VerifyRow* row) const {
  std::string worst;
  double most = -1;
  for (const auto& [name, o] : outputs_) {
    if (o.n == 0 && o.comparable) continue;
    ++row->values;
    if (o.measure() <= most) continue;
    most = o.measure();
    worst = name;
  }
  if (row->values == 0) {
    row->verdict = VerifyRow::Verdict::kFailed;
    row->why = "no sample of finite numbers was left to compare outputs on";
  } else if (most == 0) {
    row->verdict = VerifyRow::Verdict::kEqual;
  } else if (most < kFar) {
    row->verdict = VerifyRow::Verdict::kClose;
    const Of& o = outputs_.at(worst);
    row->why = o.floats
                   ? fmt::format("output '{}' is apart by {:.3g} of its spread", worst, most)
                   : fmt::format("{} of {} elements of output '{}' differ", o.differ, o.n, worst);
  } else {
    row->verdict = VerifyRow::Verdict::kDiffers;
    row->first = FirstDifference{};
    row->first->why = fmt::format(
        "output '{}' is another model's: apart by {:.3g} of its spread over all samples, where a "
        "class "
        "without a bound still stays below {}",
        worst, most, kFar);
  }
}

}  // namespace wick::tool
