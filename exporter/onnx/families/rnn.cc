// Recurrent operators. The graph has a function's parameters at the function; ONNX has them in two
// lists, which those functions that take a parameter read in order.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

struct FunctionName {
  const char* name;
  RnnFunction kind;
  bool takes_alpha = false, takes_beta = false;
  float alpha = 0, beta = 0;  // defaults
};
constexpr FunctionName kFunctions[] = {
    {"Tanh", RnnFunction::kTanh},
    {"Sigmoid", RnnFunction::kSigmoid},
    {"Relu", RnnFunction::kRelu},
    {"Affine", RnnFunction::kAffine, true, true, 1.0f, 0.0f},
    {"LeakyRelu", RnnFunction::kLeakyRelu, true, false, 0.01f},
    {"ThresholdedRelu", RnnFunction::kThresholdedRelu, true, false, 1.0f},
    {"ScaledTanh", RnnFunction::kScaledTanh, true, true, 1.0f, 1.0f},
    {"HardSigmoid", RnnFunction::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"Elu", RnnFunction::kElu, true, false, 1.0f},
    {"Softsign", RnnFunction::kSoftsign},
    {"Softplus", RnnFunction::kSoftplus},
};
constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};

size_t functions_of(OpId op) { return op == OpId::kLSTM ? 3 : op == OpId::kGRU ? 2 : 1; }

// Returns the functions in ONNX's order: those of the first direction, then of the second.
template <class Attrs>
auto places(Attrs& a, OpId op) {
  decltype(&a.f) all[] = {&a.f, &a.g, &a.h, &a.back_f, &a.back_g, &a.back_h};
  std::vector<decltype(&a.f)> list;
  for (size_t d = 0; d < (a.direction == 2 ? 2u : 1u); ++d) {
    for (size_t i = 0; i < functions_of(op); ++i) list.push_back(all[3 * d + i]);
  }
  return list;
}

RnnFunction default_at(OpId op, size_t place) {
  bool first = place % functions_of(op) == 0;
  return first && op != OpId::kRNN ? RnnFunction::kSigmoid : RnnFunction::kTanh;
}

const FunctionName& function_named(ReadCtx& c, const std::string& name) {
  for (const FunctionName& f : kFunctions) {
    bool same = std::equal(name.begin(), name.end(), f.name, f.name + strlen(f.name),
                           [](char a, char b) { return tolower(a) == tolower(b); });
    if (same) return f;
  }
  c.fail("unknown activation '" + name + "'");
}

void read_functions(ReadCtx& c, OpId op, RnnAttrs* a) {
  const AttributeProto* given = c.attr("activations");
  if (given == nullptr || given->strings_size() == 0) return;
  std::vector<RnnFunctionAttrs*> list = places(*a, op);
  if (static_cast<size_t>(given->strings_size()) < list.size()) {
    c.fail("activations names " + std::to_string(given->strings_size()) + " functions, needs " +
           std::to_string(list.size()));
  }
  std::vector<double> alphas = c.attr_floats("activation_alpha"),
                      betas = c.attr_floats("activation_beta");
  size_t alpha = 0, beta = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const FunctionName& f = function_named(c, given->strings(static_cast<int>(i)));
    if (f.kind != default_at(op, i)) list[i]->kind = static_cast<int64_t>(f.kind);
    if (f.takes_alpha) list[i]->alpha = alpha < alphas.size() ? alphas[alpha++] : f.alpha;
    if (f.takes_beta) list[i]->beta = beta < betas.size() ? betas[beta++] : f.beta;
  }
}

template <OpId op>
void read_recurrent(ReadCtx& c) {
  RnnAttrs a;
  a.hidden_size = c.attr_int("hidden_size", 0);
  if (c.attr("hidden_size") != nullptr && a.hidden_size < 1) c.fail("hidden_size must be >= 1");
  std::string way = c.attr_string("direction", "forward");
  a.direction = std::find(kDirections, kDirections + 3, way) - kDirections;
  if (a.direction == 3) c.fail("unknown direction '" + way + "'");
  a.layout = c.attr_int("layout", 0);
  a.clip = c.attr_float("clip", 0);
  if (op == OpId::kGRU) a.linear_before_reset = c.attr_int("linear_before_reset", 0) != 0;
  if (op == OpId::kLSTM) a.input_forget = c.attr_int("input_forget", 0) != 0;
  read_functions(c, op, &a);
  std::vector<ValueId> in = {c.in(0), c.in(1), c.in(2)};
  for (int i = 3; i < (op == OpId::kLSTM ? 8 : 6); ++i) in.push_back(c.optional(i));
  if (in[4] != kNoValue) in[4] = cast(c, in[4], DType::kI32);
  const Value& r = c.g.value(in[2]);
  if (a.hidden_size == 0 && r.ranked && r.shape.rank() == 3 && r.shape[2].known())
    a.hidden_size = r.shape[2].constant();
  c.emit_all(op, a, std::move(in), op == OpId::kLSTM ? 3 : 2);
}

void write_functions(OpId op, const RnnAttrs& a, NodeProto* n) {
  auto list = places(a, op);
  bool plain = std::all_of(list.begin(), list.end(), [](auto* f) { return f->kind == 0; });
  if (plain) return;
  AttributeProto& names = add_attr(*n, "activations", AttributeProto::STRINGS);
  std::vector<double> alphas, betas;
  for (size_t i = 0; i < list.size(); ++i) {
    auto kind = list[i]->kind == 0 ? default_at(op, i) : static_cast<RnnFunction>(list[i]->kind);
    for (const FunctionName& f : kFunctions) {
      if (f.kind != kind) continue;
      names.add_strings(f.name);
      if (f.takes_alpha) alphas.push_back(list[i]->alpha);
      if (f.takes_beta) betas.push_back(list[i]->beta);
    }
  }
  auto add = [&](const char* name, const std::vector<double>& values) {
    if (values.empty()) return;
    AttributeProto& attr = add_attr(*n, name, AttributeProto::FLOATS);
    for (double v : values) attr.add_floats(static_cast<float>(v));
  };
  add("activation_alpha", alphas);
  add("activation_beta", betas);
}

void write_recurrent(WriteCtx& c, const char* op) {
  const auto& a = c.as<RnnAttrs>();
  NodeProto& n = c.same(op);
  if (a.hidden_size > 0) set_int(n, "hidden_size", a.hidden_size);
  set_string(n, "direction", kDirections[a.direction]);
  if (a.layout != 0) set_int(n, "layout", a.layout);
  if (a.clip > 0) set_float(n, "clip", a.clip);
  if (a.linear_before_reset != 0) set_int(n, "linear_before_reset", 1);
  if (a.input_forget != 0) set_int(n, "input_forget", 1);
  write_functions(c.node.op, a, &n);
}

}  // namespace

WICK_READ(RNN, read_recurrent<OpId::kRNN>);
WICK_READ(GRU, read_recurrent<OpId::kGRU>);
WICK_READ(LSTM, read_recurrent<OpId::kLSTM>);

WICK_ONNX_ROW(RNN, [](WriteCtx& c) { write_recurrent(c, "RNN"); });
WICK_ONNX_ROW(GRU, [](WriteCtx& c) { write_recurrent(c, "GRU"); });
WICK_ONNX_ROW(LSTM, [](WriteCtx& c) { write_recurrent(c, "LSTM"); });

}  // namespace wick::onnx
