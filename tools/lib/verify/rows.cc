#include "tools/lib/verify/rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "graph/ir/packed.h"
#include "runtime/registry/registry.h"
#include "tools/lib/difference.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

constexpr int64_t kMiddle = 3, kLarge = 16;  // sizes, see size_samples()
// See larger_sample().
constexpr int64_t kLarger[] = {2, 4, 8, 16, 32, 64, 128, 224, 256, 512};

bool takes_floats(const Session& session) {
  for (size_t i = 0; i < session.input_count(); ++i) {
    if (is_float(session.input(i).dtype)) return true;
  }
  return false;
}

std::vector<ir::NodeId> live(const ir::Graph& g) {
  std::vector<ir::NodeId> nodes;
  for (size_t i = 0; i < g.node_count(); ++i) {
    if (!g.node(static_cast<ir::NodeId>(i)).removed()) nodes.push_back(static_cast<ir::NodeId>(i));
  }
  return nodes;
}

}  // namespace

std::string type_of(const HostTensor& t) {
  if (!is_container(t.dtype()))
    return fmt::format("{} {}", dtype_name(t.dtype()), to_text(t.shape()).text);
  const Unpacked u = unpack(t);
  return fmt::format("{} of {} {}", dtype_name(t.dtype()), u.elements.size(),
                     dtype_name(u.element));
}

void take_names(ir::Graph* file, const ir::Graph& graph) {
  const std::vector<ir::NodeId> a = live(*file), b = live(graph);
  const auto same = [&](ir::NodeId x, ir::NodeId y) {
    return file->node(x).op == graph.node(y).op &&
           file->node(x).outputs.size() == graph.node(y).outputs.size();
  };
  if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), same)) return;
  const auto take = [&](ir::ValueId to, ir::ValueId from) {
    std::string& name = file->value(to).name;
    if (name.empty()) name = graph.value(from).name;
  };
  for (size_t i = 0; i < a.size(); ++i) {
    ir::Node& to = file->node(a[i]);
    const ir::Node& from = graph.node(b[i]);
    for (size_t k = 0; k < to.outputs.size(); ++k) take(to.outputs[k], from.outputs[k]);
    for (size_t k = 0; k < std::min(to.inputs.size(), from.inputs.size()); ++k) {
      if (file->is_constant(to.inputs[k]) && graph.is_constant(from.inputs[k]))
        take(to.inputs[k], from.inputs[k]);
    }
    for (size_t r = 0; r < to.regions.size(); ++r) take_names(&to.regions[r], from.regions[r]);
  }
  if (!file->is_region() || file->inputs().size() != graph.inputs().size()) return;
  for (size_t i = 0; i < file->inputs().size(); ++i) take(file->inputs()[i], graph.inputs()[i]);
}

const char* verdict_name(VerifyRow::Verdict verdict) {
  switch (verdict) {
    case VerifyRow::Verdict::kEqual: return "equal";
    case VerifyRow::Verdict::kDiffers: return "differs";
    case VerifyRow::Verdict::kClose: return "close";
    case VerifyRow::Verdict::kSkipped: return "skipped";
    case VerifyRow::Verdict::kFailed: return "failed";
  }
  return "invalid";
}

bool VerifyReport::any(VerifyRow::Verdict verdict) const {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const VerifyRow& r) { return r.verdict == verdict; });
}

std::string FirstDifference::text() const {
  const std::string place =
      fmt::format("{}, value '{}' {}", node.empty() ? "input" : node, value, type);
  if (element < 0) return node.empty() && value.empty() ? why : fmt::format("{}: {}", place, why);
  std::string far;
  if (ulps > 0) far = fmt::format(", {} ulp{}", ulps, ulps == 1 ? "" : "s");
  return fmt::format("{}: element {} is {:.9g}, should be {:.9g}{}{}{}{}", place, element, got,
                     expected, last_digits(got, expected), far,
                     bound > 0 ? fmt::format(", allowed {:.3g}", bound) : "",
                     why.empty() ? "" : ": " + why);
}

namespace {

// Returns the symbols of the inputs' dims that `dims` does not name, in the inputs' order.
std::vector<int32_t> open_symbols(const Session& session, const Program& program,
                                  const std::vector<std::string>& dims) {
  std::vector<int32_t> open;
  const auto is_named = [&](const char* name) {
    return std::any_of(dims.begin(), dims.end(), [&](const std::string& d) {
      return d.rfind(std::string(name) + "=", 0) == 0;
    });
  };
  for (size_t i = 0; i < session.input_count(); ++i) {
    for (const DimDef& d : session.input(i).dims) {
      if (d.symbol < 0 || std::find(open.begin(), open.end(), d.symbol) != open.end()) continue;
      if (!is_named(program.symbols()[static_cast<size_t>(d.symbol)].name))
        open.push_back(d.symbol);
    }
  }
  return open;
}

// Returns `dims` and a size for each open symbol, clamped to its bounds.
std::vector<std::string> with_sizes(const Program& program, const std::vector<std::string>& dims,
                                    const std::vector<int32_t>& open, int64_t size, int64_t first) {
  std::vector<std::string> named = dims;
  for (int32_t s : open) {
    const SymbolDef& symbol = program.symbols()[static_cast<size_t>(s)];
    const int64_t n = s == open[0] ? first : size;
    named.push_back(fmt::format("{}={}", symbol.name, std::clamp(n, symbol.min, symbol.max)));
  }
  return named;
}

std::string label_of(const std::vector<std::string>& named) {
  std::string label;
  for (const std::string& n : named) label += (label.empty() ? "" : " ") + n;
  return label;
}

}  // namespace

bool ran_out(const Error& e) {
  return e.code() == Code::kBudgetExceeded || e.code() == Code::kOutOfMemory ||
         e.code() == Code::kDeadline || e.code() == Code::kCancelled;
}

std::optional<VerifySample> larger_sample(const Session& session, const Program& program,
                                          const std::vector<std::string>& dims,
                                          const std::function<void(VerifySample*)>& run) {
  const std::vector<int32_t> open = open_symbols(session, program, dims);
  std::set<std::string> seen;
  for (int64_t size : kLarger) {
    for (int64_t first : {int64_t{1}, int64_t{2}}) {
      const std::vector<std::string> named =
          with_sizes(program, dims, open, size, open.size() > 1 ? first : size);
      if (open.empty() || !seen.insert(label_of(named)).second) continue;
      try {
        VerifySample sample{
            label_of(named),
            sample_inputs(session, program, {.batch = std::nullopt, .named = named}).inputs,
            {}};
        run(&sample);
        return sample;
      } catch (const Error& e) {  // the next size takes more
        if (ran_out(e)) return std::nullopt;
      }
    }
  }
  return std::nullopt;
}

std::vector<VerifySample> size_samples(const Session& session, const Program& program,
                                       const std::vector<std::string>& dims,
                                       const std::vector<int64_t>& sizes, bool edges) {
  const std::vector<int32_t> open = open_symbols(session, program, dims);
  std::vector<VerifySample> samples;
  std::set<std::string> seen;
  std::vector<std::string> middle;  // the sizes of the edge samples
  const auto add = [&](int64_t size, int64_t first) {
    const std::vector<std::string> named = with_sizes(program, dims, open, size, first);
    if (size == kMiddle || middle.empty()) middle = named;
    const std::string label = named.empty() ? "fixed sizes" : label_of(named);
    if (!seen.insert(label).second) return;
    samples.push_back(
        {label,
         sample_inputs(session, program, {.batch = std::nullopt, .named = named}).inputs,
         {},
         size > kLarge && sizes.size() > 1});
  };
  for (int64_t size : sizes) {
    if (size > kLarge && open.size() > 1) add(size, 2);
    add(size, size);
  }
  if (!edges || !takes_floats(session)) return samples;
  for (const auto& [values, what] : {std::pair(SampleValues::kTies, "ties"),
                                     std::pair(SampleValues::kSpecials, "NaN and infinities")}) {
    const std::string label = label_of(middle);
    samples.push_back(
        {fmt::format("{}{}{}", label, label.empty() ? "" : ", ", what),
         sample_inputs(session, program, {.batch = std::nullopt, .named = middle, .values = values})
             .inputs,
         {},
         true,
         values == SampleValues::kSpecials});
  }
  return samples;
}

void set_element(FirstDifference* f, const HostTensor& truth, const HostTensor& got,
                 const ir::Apart& apart) {
  if (!apart.comparable) {
    f->why = fmt::format("it is {}, should be {}", type_of(got), type_of(truth));
  } else if (truth.dtype() == DType::kString) {
    f->why = fmt::format("element {} is \"{}\", should be \"{}\"", apart.element,
                         got.string_at(apart.element), truth.string_at(apart.element));
  } else if (apart.text) {
    f->why = fmt::format("element {} is another text", apart.element);
  } else {
    f->element = apart.element;
    f->expected = apart.made;
    f->got = apart.given;
    if (truth.dtype() == DType::kF32)
      f->ulps = ulps(truth.as<float>()[apart.element], got.as<float>()[apart.element]);
  }
}

void set_first(VerifyRow* row, const ir::Graph& graph, ir::ValueId value, const HostTensor& truth,
               const HostTensor& got, const ir::Apart& apart, double bound,
               const ir::Place& place) {
  row->verdict = VerifyRow::Verdict::kDiffers;
  FirstDifference f;
  const ir::Graph& region = *ir::region_at(graph, place);
  const ir::Value& v = region.value(value);
  f.value = v.name;
  f.place = place;
  f.type = type_of(truth);
  f.node = ir::maker_text(graph, place, value);
  if (v.origin == ir::ValueOrigin::kNode) f.op = op_info(region.node(v.producer).op)->name;
  f.enters = !place.empty() && v.origin == ir::ValueOrigin::kInput;
  f.bound = bound;
  set_element(&f, truth, got, apart);
  row->first = std::move(f);
}

void compare_beside(const ir::Graph& graph, Span<const HostTensor> inputs,
                    const ir::GivenValues& given, ir::Promise promise, Side side,
                    const ir::InterpreterOptions& options, VerifyRow* row) {
  ir::run_beside(
      graph, inputs, given, promise,
      [&](const ir::Beside& b) {
        ++row->values;
        const bool made = side == Side::kMadeIsTruth;
        const HostTensor& truth = made ? b.made : b.given;
        const HostTensor& other = made ? b.given : b.made;
        const ir::Apart d = ir::apart(truth, other, promise, b.bound);
        if (!d.differs) return true;
        set_first(row, graph, b.value, truth, other, d, b.bound, b.place);
        row->first->value = b.name;
        return false;
      },
      options);
}

void set_spoiled(VerifyRow* row, const ir::Graph& graph, const Spoiled& spoiled) {
  const ir::Graph* g = ir::region_at(graph, spoiled.place);
  for (size_t i = 0; g != nullptr && i < g->value_count(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    if (g->value(id).name != spoiled.value) continue;
    set_first(row, graph, id, spoiled.made, spoiled.read,
              ir::apart(spoiled.made, spoiled.read, ir::Promise::kBits, 0), 0, spoiled.place);
    row->first->why = fmt::format("its memory was used again before '{}' read it", spoiled.reader);
    return;
  }
}

}  // namespace wick::tool
