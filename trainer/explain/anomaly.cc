#include "trainer/explain/anomaly.h"

#include "trainer/autograd/running_node.h"
#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/internal.h"

namespace wick {
namespace {

// Errors that carry the report, as opposed to a failure.
struct Anomaly : Error {
  using Error::Error;
};

bool is_bad(const ValueRange& r, bool check_inf) {
  return r.nan > 0 || (check_inf && !r.all_finite());
}

std::string bad_text(const ValueRange& r, const Shape& shape) {
  std::string all = r.text();
  return "made " + all + " (first: " + number_text(r.first_bad_value) + " at " +
         position_text(shape, r.first_bad) + ")";
}

OpId op_id(const Node& node) {
  const auto* call = dynamic_cast<const OpNode*>(&node);
  return call != nullptr ? call->op : OpId::kNone;
}

// Advice for an op whose forward or backward failed.
struct Advice {
  OpId op;
  const char* forward;
  const char* backward;  // null: the same
};
constexpr const char* kDivided =
    "something is divided by 0 (or nearly): add a small number to the denominator";
constexpr const char* kOverflows =
    "exp overflows above 88 in f32: subtract the maximum first, or use softmax, log_softmax or "
    "softplus, which do";
constexpr const char* kOutgrown =
    "the numbers outgrew the dtype: a smaller learning rate, normalised inputs or clipped "
    "gradients "
    "help";
constexpr Advice kAdvice[] = {
    {OpId::kLog,
     "log needs values above 0: clamp them, e.g. log(x + 1e-8), or take log_softmax instead of "
     "log(softmax)",
     "the gradient of log is 1/x: keep x away from 0, e.g. log(x + 1e-8)"},
    {OpId::kSqrt, "sqrt needs values of at least 0: clamp them first",
     "the gradient of sqrt is 1/(2 sqrt(x)), infinite at 0: use sqrt(x + 1e-8)"},
    {OpId::kPow,
     "a negative base with a fraction as exponent is nan, 0 with a negative one inf: clamp the "
     "base",
     nullptr},
    {OpId::kCast, "the value does not fit the smaller dtype: scale the loss, or use bf16", nullptr},
    {OpId::kDiv, kDivided, nullptr},
    {OpId::kReciprocal, kDivided, nullptr},
    {OpId::kExp, kOverflows, nullptr},
    {OpId::kSinh, kOverflows, nullptr},
    {OpId::kCosh, kOverflows, nullptr},
    {OpId::kMatMul, kOutgrown, nullptr},
    {OpId::kLinear, kOutgrown, nullptr},
    {OpId::kConv, kOutgrown, nullptr},
    {OpId::kMul, kOutgrown, nullptr},
    {OpId::kAdd, kOutgrown, nullptr},
    {OpId::kSub, kOutgrown, nullptr},
    {OpId::kReduceSum, kOutgrown, nullptr},
};
const char* advice(OpId op, bool backward) {
  for (const Advice& a : kAdvice) {
    if (a.op == op) return backward && a.backward != nullptr ? a.backward : a.forward;
  }
  return "look at the ranges of the inputs";
}

std::string in_module(const std::string& path) {
  return path.empty() ? "" : joined(" in module '", path, "'");
}

}  // namespace

AnomalyMode::Formula* AnomalyMode::formula() {
  formulas_.resize(RunningNode::depth());  // drops those that threw
  return formulas_.empty() ? nullptr : &formulas_.back();
}

void AnomalyMode::on_call(const TracedCall& call) {
  Formula* in = formula();
  if (in != nullptr && !in->culprit.empty()) return;
  ValueRange bad;
  const Tensor* made = nullptr;
  for (const Tensor& t : call.out) {
    if (!t.defined() || !is_float(t.dtype())) continue;
    bad = range_of(t.raw());
    if (is_bad(bad, check_inf_)) {
      made = &t;
      break;
    }
  }
  if (made == nullptr) return;
  std::string inputs;
  for (size_t i = 0; i < call.in.size(); ++i) {
    if (call.in[i] == nullptr || !call.in[i]->defined()) continue;
    const Tensor& t = *call.in[i];
    const ValueRange r = range_of(t.raw());
    if (is_float(t.dtype()) && is_bad(r, check_inf_)) return;  // not the first
    if (!inputs.empty()) inputs += ", ";
    inputs += joined("input ", std::to_string(i));
    if (!t.name().empty()) inputs += joined(" '", t.name(), "'");
    inputs += joined(" ", type_text(t.layout()), " ", r.text());
  }
  if (inputs.empty()) return;  // a constant that has the requested value
  if (in != nullptr) {         // inside the formula of a node: reported at its end
    in->culprit = display_name(call.op);
    return;
  }
  throw Anomaly(joined("[", display_name(call.op), "]", in_module(module_path()), " ",
                       bad_text(bad, made->raw_shape()), " from finite values: ", inputs, ". ",
                       advice(call.op, false), " (", to_text(call.where), ")"));
}

void AnomalyMode::on_node_begin(const Node&, Span<const Tensor> grads) {
  formula();
  Formula& begins = formulas_.emplace_back();
  for (const Tensor& g : grads) {
    if (g.defined()) begins.fed_bad = begins.fed_bad || is_bad(range_of(g.raw()), check_inf_);
  }
}

void AnomalyMode::on_node_end(const Node& node, Span<const Tensor> grads,
                              Span<const Tensor> results) {
  const Formula ended = *formula();
  formulas_.pop_back();
  const bool first = !ended.fed_bad && bad_run_ != RunningNode::runs();
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !node.edges()[i].needed()) continue;
    const ValueRange r = range_of(results[i].raw());
    if (!is_bad(r, check_inf_)) continue;
    bad_run_ = RunningNode::runs();
    if (!first) continue;
    std::string text = "[backward] of " + op_of(node) + in_module(module_of(node)) + " " +
                       bad_text(r, results[i].raw_shape()) + " in the gradient of input " +
                       std::to_string(i);
    if (node.edges()[i].leaf && !node.edges()[i].leaf->name.empty())
      text += " '" + node.edges()[i].leaf->name + "'";
    // What forward saved may have been bad already, as a batch with a NaN: then this is not where
    // it came from.
    bool saved_bad = false;
    for_each_saved(node, [&](const char*, size_t, const SavedTensor& kept) {
      if (kept.tensor.defined() && is_float(kept.tensor.dtype()))
        saved_bad = saved_bad || is_bad(range_of(kept.tensor.raw()), check_inf_);
    });
    text += saved_bad ? " from finite gradients, and from forward's values that were not finite: "
                      : " from finite values: ";
    for (size_t k = 0; k < grads.size(); ++k) {
      if (!grads[k].defined()) continue;
      text += "incoming gradient " + type_text(grads[k].layout()) + " " +
              range_of(grads[k].raw()).text();
    }
    for_each_saved(node, [&](const char* what, size_t k, const SavedTensor& kept) {
      if (!kept.tensor.defined()) return;
      text += std::string(", forward ") + what + " " + std::to_string(k) + " " +
              type_text(kept.tensor.layout()) + " " + range_of(kept.tensor.raw()).text();
    });
    text += ". ";
    if (!ended.culprit.empty()) text += "It came out of " + ended.culprit + " in its formula. ";
    throw Anomaly(text + advice(op_id(node), true) + " (" + to_text(node.where) + ")",
                  Code::kInvalidArgument);
  }
}

std::string detect_anomaly(const std::function<void()>& step) {
  AnomalyMode mode;
  try {
    step();
  } catch (const Anomaly& found) {
    return found.what();
  }
  return "";
}

}  // namespace wick
