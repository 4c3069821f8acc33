#include <algorithm>
#include <functional>
#include <limits>
#include <sstream>

#include "exporter/onnx/read/signature.h"
#include "tests/exporter/mutate_onnx.h"

namespace wick::test {

using namespace onnx;  // NOLINT: the messages

int64_t wild_int(Dice& dice) {
  constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX, kOne = 1;
  static constexpr int64_t kAll[] = {0,
                                     1,
                                     -1,
                                     2,
                                     -2,
                                     3,
                                     -3,
                                     4,
                                     5,
                                     7,
                                     8,
                                     9,
                                     -8,
                                     -9,
                                     16,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     65,
                                     127,
                                     128,
                                     255,
                                     256,
                                     1000,
                                     -1000,
                                     65535,
                                     65536,
                                     1 << 20,
                                     kMin,
                                     kMax,
                                     kMin + 1,
                                     kMax - 1,
                                     INT32_MAX,
                                     INT32_MIN,
                                     kOne << 31,
                                     kOne << 33,
                                     kOne << 40,
                                     kOne << 61,
                                     kOne << 62,
                                     -(kOne << 40),
                                     -(kOne << 62),
                                     1000003};
  return dice.one_in(2) ? kAll[dice.below(16)] : dice.of(kAll);
}

double wild_real(Dice& dice) {
  using Limits = std::numeric_limits<double>;
  static constexpr double kAll[] = {0,
                                    -0.0,
                                    1,
                                    -1,
                                    0.5,
                                    2,
                                    -0.5,
                                    1e-45,
                                    1e-38,
                                    1e30,
                                    -1e30,
                                    3.4e38,
                                    1e300,
                                    -1e9,
                                    1e-7,
                                    2147483648.0,
                                    9.3e18,
                                    -9.3e18,
                                    1e6,
                                    0.99999,
                                    Limits::quiet_NaN(),
                                    Limits::infinity(),
                                    -Limits::infinity()};
  return dice.of(kAll);
}

std::vector<google::protobuf::RepeatedPtrField<NodeProto>*> node_lists_of(ModelProto& model) {
  std::vector<google::protobuf::RepeatedPtrField<NodeProto>*> lists;
  for (GraphProto* g : graphs_of(model)) lists.push_back(g->mutable_node());
  for (FunctionProto& f : *model.mutable_functions()) lists.push_back(f.mutable_node());
  return lists;
}

std::vector<GraphProto*> graphs_of(ModelProto& model) {
  std::vector<GraphProto*> all;
  std::function<void(GraphProto&)> walk = [&](GraphProto& g) {
    all.push_back(&g);
    for (NodeProto& n : *g.mutable_node()) {
      for (AttributeProto& a : *n.mutable_attribute()) {
        if (a.has_g()) walk(*a.mutable_g());
        for (GraphProto& inner : *a.mutable_graphs()) walk(inner);
      }
    }
  };
  walk(*model.mutable_graph());
  return all;
}

std::vector<NodeProto*> nodes_of(ModelProto& model) {
  std::vector<NodeProto*> all;
  for (auto* list : node_lists_of(model)) {
    for (NodeProto& n : *list) all.push_back(&n);
  }
  return all;
}

std::string some_value(const GraphProto& g, Dice& dice) {
  std::vector<std::string> names;
  for (const auto& v : g.input()) names.push_back(v.name());
  for (const auto& t : g.initializer()) names.push_back(t.name());
  for (const auto& n : g.node()) names.insert(names.end(), n.output().begin(), n.output().end());
  return names.empty() ? "" : dice.of(names);
}

namespace {

NodeProto* some_node(HostileCase& c, Dice& dice) {
  std::vector<NodeProto*> all = nodes_of(c.model);
  return all.empty() ? nullptr : dice.of(all);
}
NodeProto* some_node_with_inputs(HostileCase& c, Dice& dice) {
  for (int i = 0; i < 8; ++i) {
    NodeProto* n = some_node(c, dice);
    if (n != nullptr && n->input_size() > 0) return n;
  }
  return nullptr;
}
std::string visible(HostileCase& c, Dice& dice) {
  return some_value(*dice.of(*std::make_unique<std::vector<GraphProto*>>(graphs_of(c.model))),
                    dice);
}

bool drop_input(HostileCase& c, Dice& dice) {
  NodeProto* n = some_node_with_inputs(c, dice);
  if (n == nullptr) return false;
  int i = dice.below(n->input_size());
  if (dice.one_in(2)) {
    n->mutable_input(i)->clear();
  } else {
    n->mutable_input()->DeleteSubrange(i, 1);
  }
  return true;
}
bool add_input(HostileCase& c, Dice& dice) {
  NodeProto* n = some_node(c, dice);
  if (n == nullptr) return false;
  int count = dice.one_in(8) ? 300 : 1 + dice.below(3);
  for (int i = 0; i < count; ++i) n->add_input(dice.one_in(4) ? "" : visible(c, dice));
  return true;
}
bool swap_inputs(HostileCase& c, Dice& dice) {
  NodeProto* n = some_node_with_inputs(c, dice);
  if (n == nullptr || n->input_size() < 2) return false;
  n->mutable_input()->SwapElements(dice.below(n->input_size()), dice.below(n->input_size()));
  return true;
}
bool other_input(HostileCase& c, Dice& dice) {
  NodeProto* n = some_node_with_inputs(c, dice);
  if (n == nullptr) return false;
  std::string name = visible(c, dice);
  if (dice.one_in(8)) name = "nobody";
  if (dice.one_in(6) && n->output_size() > 0) name = n->output(0);  // a cycle
  n->set_input(dice.below(n->input_size()), name);
  return true;
}
bool change_outputs(HostileCase& c, Dice& dice) {
  NodeProto* n = some_node(c, dice);
  if (n == nullptr || n->output_size() == 0) return false;
  int i = dice.below(n->output_size());
  switch (dice.below(5)) {
    case 0: n->mutable_output()->DeleteSubrange(i, 1); break;
    case 1: n->add_output(n->output(i)); break;
    case 2: n->set_output(i, visible(c, dice)); break;
    case 3: n->mutable_output(i)->clear(); break;
    default:
      for (int k = dice.one_in(6) ? 300 : 1 + dice.below(3); k-- > 0;)
        n->add_output("more" + std::to_string(k));
  }
  return true;
}
bool change_order(HostileCase& c, Dice& dice) {
  auto lists = node_lists_of(c.model);
  auto& nodes = *dice.of(lists);
  if (nodes.empty()) return false;
  int i = dice.below(nodes.size()), k = dice.below(nodes.size());
  switch (dice.below(4)) {
    case 0: nodes.SwapElements(i, k); break;
    case 1: nodes.DeleteSubrange(i, 1); break;
    case 2: {
      NodeProto copy = nodes[i];
      *nodes.Add() = copy;
      break;
    }
    default:
      for (int a = 0, b = nodes.size() - 1; a < b; ++a, --b) nodes.SwapElements(a, b);
  }
  return true;
}
int64_t opset_of(const ModelProto& model) {
  return model.opset_import_size() > 0 ? model.opset_import(0).version() : 1;
}
// "axis:i keepdims:i"
std::vector<std::string> known_attributes(const NodeProto& n, int64_t opset) {
  std::vector<std::string> words;
  const OperatorVersion* s = find_version(n.op_type(), opset);
  std::istringstream in(s == nullptr ? "" : s->attributes);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}
void fit_attributes(NodeProto* n, int64_t opset) {
  const std::vector<std::string> known = known_attributes(*n, opset);
  for (int i = n->attribute_size() - 1; i >= 0; --i) {
    const std::string start = n->attribute(i).name() + ":";
    const bool fits = std::any_of(known.begin(), known.end(),
                                  [&](const std::string& word) { return word.starts_with(start); });
    if (!fits) n->mutable_attribute()->DeleteSubrange(i, 1);
  }
}

bool other_operator(HostileCase& c, Dice& dice) {
  NodeProto* n = some_node(c, dice);
  if (n == nullptr) return false;
  n->set_op_type(dice.one_in(20) ? "Frobnicate" : dice.of(op_types()));
  // attributes that the new one lacks would hide everything else that is wrong with it
  if (!dice.one_in(4)) fit_attributes(n, opset_of(c.model));
  if (dice.one_in(12)) n->set_domain(dice.one_in(2) ? "com.microsoft" : "ai.onnx");
  return true;
}

AttributeProto* some_attribute(HostileCase& c, Dice& dice) {
  for (int i = 0; i < 8; ++i) {
    NodeProto* n = some_node(c, dice);
    if (n != nullptr && n->attribute_size() > 0)
      return n->mutable_attribute(dice.below(n->attribute_size()));
  }
  return nullptr;
}
bool wild_attribute(HostileCase& c, Dice& dice) {
  AttributeProto* a = some_attribute(c, dice);
  if (a == nullptr) return false;
  bool changed = true;
  if (a->has_i()) {
    a->set_i(wild_int(dice));
  } else if (a->has_f()) {
    a->set_f(static_cast<float>(wild_real(dice)));
  } else if (a->ints_size() > 0 && !dice.one_in(3)) {
    a->set_ints(dice.below(a->ints_size()), wild_int(dice));
  } else if (a->type() == AttributeProto::INTS) {
    if (dice.one_in(3)) a->clear_ints();
    for (int k = dice.one_in(3) ? 9 + dice.below(100) : dice.below(3); k-- > 0;)
      a->add_ints(wild_int(dice));
  } else if (a->floats_size() > 0) {
    a->set_floats(dice.below(a->floats_size()), static_cast<float>(wild_real(dice)));
    if (dice.one_in(4)) a->clear_floats();
  } else if (a->has_s()) {
    static const char* const kTexts[] = {"",
                                         "NOTSET",
                                         "SAME_UPPER",
                                         "VALID",
                                         "linear",
                                         "cubic",
                                         "nearest",
                                         "constant",
                                         "wrap",
                                         "reflect",
                                         "edge",
                                         "DCR",
                                         "mean",
                                         "none",
                                         "...ij,jk",
                                         "ii->i",
                                         "->",
                                         "a,b->abab",
                                         "bidirectional",
                                         "half_pixel",
                                         "tf_crop_and_resize",
                                         "\xff\n%s%n{}"};
    a->set_s(dice.of(kTexts));
  } else {
    changed = false;
  }
  return changed;
}
bool lying_attribute(HostileCase& c, Dice& dice) {
  AttributeProto* a = some_attribute(c, dice);
  if (a == nullptr) return false;
  switch (dice.below(4)) {
    case 0: a->set_type(static_cast<AttributeProto::AttributeType>(dice.below(15))); break;
    case 1: {
      std::string name = a->name();
      a->Clear();
      a->set_name(name);
      break;
    }
    case 2: a->set_ref_attr_name("nowhere"); break;
    default: {
      const AttributeProto* other = some_attribute(c, dice);  // the node may have none
      std::string name = a->name();
      const AttributeProto copy = other != nullptr ? *other : *a;
      *a = copy;
      a->set_name(name);
    }
  }
  return true;
}
bool add_text_or_float(NodeProto* n, const std::string& name, char type, Dice& dice) {
  AttributeProto* a = n->add_attribute();
  a->set_name(name);
  a->set_type(type == 'f' ? AttributeProto::FLOAT : AttributeProto::STRING);
  if (type == 'f') a->set_f(static_cast<float>(wild_real(dice)));
  if (type == 's') a->set_s("wild");
  return true;
}
bool add_attribute(HostileCase& c, Dice& dice) {
  NodeProto* n = some_node(c, dice);
  if (n == nullptr) return false;
  static const char* const kNames[] = {"axis",
                                       "axes",
                                       "keepdims",
                                       "group",
                                       "strides",
                                       "pads",
                                       "dilations",
                                       "kernel_shape",
                                       "to",
                                       "block_size",
                                       "num_heads",
                                       "hidden_size",
                                       "k",
                                       "perm",
                                       "num_outputs",
                                       "ceil_mode",
                                       "output_shape",
                                       "output_padding",
                                       "batch_dims",
                                       "blocksize",
                                       "storage_order",
                                       "count_include_pad",
                                       "p",
                                       "sorted",
                                       "largest",
                                       "q_num_heads",
                                       "kv_num_heads",
                                       "block_shape",
                                       "size",
                                       "time_axis",
                                       "batch_axis",
                                       "layout",
                                       "allowzero",
                                       "start",
                                       "end",
                                       "num_scan_inputs",
                                       "split",
                                       "noop_with_empty_axes",
                                       "saturate",
                                       "exclusive",
                                       "upper"};
  const std::vector<std::string> known = known_attributes(*n, opset_of(c.model));
  std::string name = dice.of(kNames);
  bool one = dice.one_in(2);
  if (!known.empty() && !dice.one_in(4)) {
    const std::string& word = dice.of(known);
    name = word.substr(0, word.find(':'));
    const char type = word[name.size() + 1];
    if (type == 'f' || type == 's') return add_text_or_float(n, name, type, dice);
    one = type == 'i';
  }
  for (int i = n->attribute_size() - 1; i >= 0 && !dice.one_in(8); --i) {
    if (n->attribute(i).name() == name) n->mutable_attribute()->DeleteSubrange(i, 1);
  }
  AttributeProto* a = n->add_attribute();
  a->set_name(name);
  if (one) {
    a->set_type(AttributeProto::INT);
    a->set_i(wild_int(dice));
    return true;
  }
  a->set_type(AttributeProto::INTS);
  for (int k = dice.below(5); k-- > 0;) a->add_ints(wild_int(dice));
  return true;
}
bool drop_attribute(HostileCase& c, Dice& dice) {
  NodeProto* n = some_node(c, dice);
  if (n == nullptr || n->attribute_size() == 0) return false;
  n->mutable_attribute()->DeleteSubrange(dice.below(n->attribute_size()), 1);
  return true;
}

constexpr Mutation kMutations[] = {
    {"drop input", drop_input},           {"add inputs", add_input},
    {"swap inputs", swap_inputs},         {"other input", other_input},
    {"outputs", change_outputs},          {"order", change_order},
    {"operator", other_operator},         {"wild attribute", wild_attribute},
    {"wild attribute", wild_attribute},   {"wild attribute", wild_attribute},
    {"lying attribute", lying_attribute}, {"add attribute", add_attribute},
    {"drop attribute", drop_attribute},
};

}  // namespace

Span<const Mutation> node_mutations() { return kMutations; }

std::string mutate(HostileCase& c, Dice& dice) {
  std::string done;
  const Span<const Mutation> kinds[] = {node_mutations(), value_mutations(), value_mutations(),
                                        bomb_mutations()};
  for (int left = 1 + dice.below(3) * dice.below(2), tries = 0; left > 0 && tries < 20; ++tries) {
    const Span<const Mutation> kind = kinds[dice.one_in(3) ? dice.below(4) : dice.below(3)];
    const Mutation& m = kind[static_cast<size_t>(dice.below(static_cast<int>(kind.size())))];
    if (!m.apply(c, dice)) continue;
    done += (done.empty() ? "" : ", ") + std::string(m.name);
    --left;
  }
  return done;
}

}  // namespace wick::test
