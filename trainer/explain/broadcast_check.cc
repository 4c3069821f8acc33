#include "trainer/explain/broadcast_check.h"

#include <algorithm>

#include "trainer/autograd/running_node.h"
#include "trainer/explain/broadcast_text.h"
#include "trainer/explain/values.h"
#include "trainer/explain/warn.h"
#include "trainer/tensor/internal.h"

namespace wick {
namespace {

// Returns whether the op's output is the broadcast of its inputs, element by element.
bool elementwise(OpId op) {
  const OpKind kind = kind_of(op);
  return kind == OpKind::kBinary || kind == OpKind::kCompare || kind == OpKind::kLogic;
}

std::string operand(const Tensor& t, const char* fallback) {
  const std::string name = t.name().empty() ? fallback : joined("'", t.name(), "'");
  return joined(name, " ", to_text(t.raw_shape()).text);
}

// Returns the shape with which the vector would go along the other's first dimension: {4} -> "{4,
// 1}".
std::string as_column(const Shape& s) {
  std::string text = braces(s);
  text.insert(text.size() - 1, ", 1");
  return text;
}

}  // namespace

void BroadcastCheck::on_call(const TracedCall& call) {
  if (!elementwise(call.op) || call.in.size() != 2 || RunningNode::innermost() != nullptr) return;
  const Tensor &a = *call.in[0], &b = *call.in[1];
  const Shape &sa = a.raw_shape(), &sb = b.raw_shape(), &out = call.out[0].raw_shape();
  if (numel(sa) <= 1 || numel(sb) <= 1) return;
  const bool both = !(sa == out) && !(sb == out);
  const bool ranks = sa.rank() != sb.rank();
  if (!both && !ranks) return;
  const bool a_small = sa.rank() < sb.rank();
  const Shape &low = a_small ? sa : sb, &high = a_small ? sb : sa;
  std::string text =
      operand(a, "left") + " and " + operand(b, "right") + " give " + to_text(out).text + ": ";
  if (both) {
    text += "both are stretched, every one meets every other one. ";
  } else {
    text += std::string("the ") + (a_small ? "left" : "right") +
            " one is repeated along the leading dimensions. ";
  }
  text += std::string(kBroadcastRule) + " ";
  if (both && numel(sa) == numel(sb)) {
    text += "Element by element: give both one shape, e.g. right.reshape(" + braces(sa) + ")";
  } else if (low.rank() == 1 && high.rank() == 2 && high[0] == low[0] && high[1] == low[0]) {
    text += "Both axes have this size: if one value a row was meant, reshape(" + as_column(low) +
            ") (or keepdim = true where it was reduced)";
  } else {
    text += "If it is meant, say so: unsqueeze() or expand() the one of lower rank";
  }
  findings_.push_back(
      joined("[", display_name(call.op), "] ", text, " (", to_text(call.where), ")"));
  warn("implicit-broadcast", display_name(call.op), text, call.where);
}

}  // namespace wick
