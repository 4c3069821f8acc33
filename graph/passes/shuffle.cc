// Turns a channel shuffle (a reshape that splits the channels into groups, a transpose of groups
// and members, a reshape back) into one Gather of channels. Between convolutions its value then
// stays in blocks of channels, and elsewhere whole maps are copied. This is exact: nothing is
// computed.
#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"

namespace wick::ir {
namespace {

constexpr int64_t kMostChannels = 1 << 16;  // a file must not ask for a larger constant

const Node* maker(const Graph& g, ValueId v, OpId op) {
  const Node* n = producer_of(g, v);
  return n != nullptr && n->op == op ? n : nullptr;
}

struct Shuffle {
  NodeId apart, turn;  // the nodes before the last one
  ValueId x;
  int64_t groups, members;
};

bool match(const Graph& g, const Node& back, Shuffle* s) {
  const Node* turn = maker(g, back.inputs[0], OpId::kTranspose);
  const Node* apart = turn == nullptr ? nullptr : maker(g, turn->inputs[0], OpId::kReshape);
  if (apart == nullptr) return false;
  s->apart = g.value(turn->inputs[0]).producer, s->turn = g.value(back.inputs[0]).producer;
  s->x = apart->inputs[0];
  const Value &x = g.value(s->x), &split = g.value(turn->inputs[0]);
  if (x.dtype != DType::kF32 || !same_shape(g, s->x, back.outputs[0]) || !split.ranked ||
      split.declared || x.shape.rank() != 4 || split.shape.rank() < 4)
    return false;
  const SymDim &channels = x.shape[1], &groups = split.shape[1], &members = split.shape[2];
  if (dim_equal(x.shape[0], split.shape[0]) != Tri::kYes || !channels.known() || !groups.known() ||
      !members.known())
    return false;
  s->groups = groups.constant(), s->members = members.constant();
  if (channels.constant() > kMostChannels || s->groups < 1 || s->members < 1 ||
      channels.constant() % s->groups != 0 || channels.constant() / s->groups != s->members)
    return false;
  const DimList perm = full_perm(g, *turn);
  for (int64_t i = 0; i < perm.count; ++i) {
    if (perm[i] != (i == 1 ? 2 : i == 2 ? 1 : i)) return false;
  }
  return true;
}

}  // namespace

bool gather_shuffles(Graph& g) {
  const std::vector<std::vector<NodeId>> users = g.users();
  Substitution sub(g);
  for (size_t i = 0, count = g.node_count(); i < count; ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node back = g.node(id);
    Shuffle s;
    if (back.op != OpId::kReshape || !match(g, back, &s)) continue;
    std::vector<int64_t> from(static_cast<size_t>(s.groups * s.members));
    for (size_t c = 0; c < from.size(); ++c) {
      const auto at = static_cast<int64_t>(c);
      from[c] = at % s.groups * s.members + at / s.groups;
    }
    const ValueId channels = g.add_constant(HostTensor::of<int64_t>({s.groups * s.members}, from));
    const NodeId made =
        g.add_node(OpId::kGather, AnyAttrs::of(AxisAttrs{1}), {s.x, channels}, 1, back.name);
    g.node(made).module = back.module;
    g.node(made).source = back.source;
    const ValueId value = g.node(made).outputs[0];
    g.value(value).name = g.value(back.outputs[0]).name;
    sub.replace(back.outputs[0], value);
    g.remove_node(id);
    // The nodes before it go where nothing else reads them.
    for (const NodeId part : {s.turn, s.apart}) {
      const ValueId v = g.node(part).outputs[0];
      if (users[static_cast<size_t>(v)].size() != 1 || sub.is_output(v)) break;
      g.remove_node(part);
    }
  }
  if (!sub.finish()) return false;
  g.compact();
  return true;
}

}  // namespace wick::ir
