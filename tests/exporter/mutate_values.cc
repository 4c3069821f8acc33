#include <cstring>

#include "exporter/onnx/file/tensor.h"
#include "runtime/core/half.h"
#include "tests/exporter/mutate_onnx.h"

namespace wick::test {

using namespace onnx;  // NOLINT: the messages

namespace {

std::string strange_name(Dice& dice) {
  static const char* const kNames[] = {"",         "?",  "?0",   "d0",         "r0",      "a'b",
                                       "a\"b",     " ",  "x\ny", "max(a,b)",   "a*b",     "-1",
                                       "\xff\xfe", "{}", "%s%n", "floor(a,2)", "\x1b[31m"};
  if (dice.one_in(10)) return std::string(1 << 20, 'n');
  if (dice.one_in(10)) return std::string("a\0b", 3);
  return dice.of(kNames);
}

std::vector<TensorProto*> tensors_of(ModelProto& model) {
  std::vector<TensorProto*> all;
  for (GraphProto* g : graphs_of(model)) {
    for (TensorProto& t : *g->mutable_initializer()) all.push_back(&t);
  }
  for (NodeProto* n : nodes_of(model)) {
    for (AttributeProto& a : *n->mutable_attribute()) {
      if (a.has_t()) all.push_back(a.mutable_t());
    }
  }
  return all;
}

void wild_element(HostTensor& t, Dice& dice) {
  if (t.numel() == 0) return;
  auto i = static_cast<int64_t>(dice.next() % static_cast<uint64_t>(t.numel()));
  switch (t.dtype()) {
    case DType::kF32: t.as<float>()[i] = static_cast<float>(wild_real(dice)); break;
    case DType::kF64: t.as<double>()[i] = wild_real(dice); break;
    case DType::kF16: t.as<Half>()[i] = Half(static_cast<float>(wild_real(dice))); break;
    case DType::kI64: t.as<int64_t>()[i] = wild_int(dice); break;
    case DType::kI32: t.as<int32_t>()[i] = static_cast<int32_t>(wild_int(dice)); break;
    case DType::kBool: t.as<uint8_t>()[i] = static_cast<uint8_t>(dice.below(2)); break;
    default: t.as<uint8_t>()[dice.below(static_cast<int>(t.nbytes()))] ^= 0xA5;
  }
}

bool wild_input(HostileCase& c, Dice& dice) {
  if (c.inputs.empty()) return false;
  auto it = std::next(c.inputs.begin(), dice.below(static_cast<int>(c.inputs.size())));
  HostTensor t(it->second.dtype(), it->second.shape(), it->second.data(), it->second.nbytes());
  for (int k = 1 + dice.below(4); k-- > 0;) wild_element(t, dice);
  it->second = t;
  return true;
}

ValueInfoProto* some_input(HostileCase& c, Dice& dice) {
  GraphProto& g = *c.model.mutable_graph();
  return g.input_size() == 0 ? nullptr : g.mutable_input(dice.below(g.input_size()));
}

// The declared sizes become symbols, and what is fed has others.
bool other_shape(HostileCase& c, Dice& dice) {
  ValueInfoProto* v = some_input(c, dice);
  if (v == nullptr) return false;
  auto* type = v->mutable_type()->mutable_tensor_type();
  auto at = c.inputs.find(v->name());
  if (at == c.inputs.end()) return false;
  Shape shape = at->second.shape();
  if (dice.one_in(4)) {
    type->clear_shape();
    if (dice.one_in(2)) shape.push_back(1 + dice.below(2));
  }
  for (int d = 0; d < shape.rank(); ++d) {
    if (type->has_shape() && d < type->shape().dim_size())
      type->mutable_shape()->mutable_dim(d)->set_dim_param(v->name() + std::to_string(d));
    if (dice.one_in(3)) shape[d] = dice.one_in(2) ? dice.below(3) : shape[d] + 1;
  }
  HostTensor old = at->second;
  if (!checked_bytes(shape, dtype_bits(old.dtype())).ok()) return false;
  HostTensor t(old.dtype(), shape);
  for (size_t k = 0; k < t.nbytes() && old.nbytes() > 0; ++k)
    t.as<char>()[k] = old.as<char>()[k % old.nbytes()];
  if (old.nbytes() > 0 || t.nbytes() == 0) at->second = t;
  return true;
}

bool declared_type(HostileCase& c, Dice& dice) {
  GraphProto& g = *dice.of(*std::make_unique<std::vector<GraphProto*>>(graphs_of(c.model)));
  auto& list = *(dice.one_in(3) ? g.mutable_output() : g.mutable_input());
  if (list.empty()) return false;
  ValueInfoProto* v = &list[dice.below(list.size())];
  auto* type = v->mutable_type()->mutable_tensor_type();
  auto* shape = type->mutable_shape();
  auto* dim =
      shape->dim_size() > 0 ? shape->mutable_dim(dice.below(shape->dim_size())) : shape->add_dim();
  switch (dice.below(9)) {
    case 0: type->set_elem_type(dice.below(32) - 1); break;
    case 1: dim->set_dim_value(wild_int(dice)); break;
    case 2: dim->set_dim_param(strange_name(dice)); break;
    case 3: type->clear_shape(); break;
    case 4: shape->clear_dim(); break;
    case 5:
      for (int k = 1 + dice.below(10); k-- > 0;) shape->add_dim()->set_dim_value(1);
      break;
    case 6: v->clear_type(); break;
    case 7: v->mutable_type()->mutable_sequence_type()->mutable_elem_type(); break;
    default:
      for (auto& d : *shape->mutable_dim()) d.set_dim_param("same");
  }
  return true;
}

bool change_lists(HostileCase& c, Dice& dice) {
  GraphProto& g = *dice.of(*std::make_unique<std::vector<GraphProto*>>(graphs_of(c.model)));
  auto& list = *(dice.one_in(2) ? g.mutable_output() : g.mutable_input());
  if (list.empty()) return false;
  int i = dice.below(list.size());
  switch (dice.below(5)) {
    case 0: list.DeleteSubrange(i, 1); break;
    case 1: {
      ValueInfoProto copy = list[i];
      *list.Add() = copy;
      break;
    }
    case 2: list.SwapElements(i, dice.below(list.size())); break;
    case 3: list[i].set_name(some_value(g, dice)); break;
    default: list[i].set_name("nobody");
  }
  return true;
}

bool change_tensor(HostileCase& c, Dice& dice) {
  std::vector<TensorProto*> all = tensors_of(c.model);
  if (all.empty()) return false;
  TensorProto& t = *dice.of(all);
  switch (dice.below(9)) {
    case 0:
      if (t.has_raw_data()) t.mutable_raw_data()->resize(t.raw_data().size() / 2);
      break;
    case 1: t.set_data_type(dice.below(30) - 1); break;
    case 2: t.add_dims(wild_int(dice)); break;
    case 3:
      if (t.dims_size() > 0) t.set_dims(dice.below(t.dims_size()), wild_int(dice));
      break;
    case 4:
      for (int k = 0; k < 9; ++k) t.add_dims(1);
      break;
    case 5: {
      static const char* const kPaths[] = {"../x", "/etc/passwd", "", ".", "a/../../x", "none.bin"};
      t.clear_raw_data();
      t.set_data_location(TensorProto::EXTERNAL);
      auto add = [&](const char* key, const std::string& value) {
        t.add_external_data()->set_key(key);
        t.mutable_external_data(t.external_data_size() - 1)->set_value(value);
      };
      add("location", dice.of(kPaths));
      add("offset", std::to_string(wild_int(dice)));
      if (dice.one_in(2)) add("length", std::to_string(wild_int(dice)));
      break;
    }
    case 6: t.clear_raw_data(); break;
    case 7:
      t.clear_dims();
      for (int k = 0; k < 3; ++k) t.add_dims(wild_int(dice));
      t.set_raw_data("");
      break;
    default:
      try {
        HostTensor value = decode(t, "");
        HostTensor own(value.dtype(), value.shape(), value.data(), value.nbytes());
        wild_element(own, dice);
        t.set_raw_data(own.data(), own.nbytes());
      } catch (const std::exception&) {
        return false;
      }
  }
  return true;
}

// Makes a run-time input part of the file.
bool to_initializer(HostileCase& c, Dice& dice) {
  GraphProto& g = *c.model.mutable_graph();
  if (g.input_size() == 0) return false;
  int i = dice.below(g.input_size());
  auto at = c.inputs.find(g.input(i).name());
  if (at == c.inputs.end()) return false;
  *g.add_initializer() = encode(at->second, at->first);
  if (!dice.one_in(4)) g.mutable_input()->DeleteSubrange(i, 1);
  return true;
}
bool all_to_initializers(HostileCase& c, Dice& dice) {
  bool any = false;
  GraphProto& g = *c.model.mutable_graph();
  int keep = dice.below(g.input_size() + 1);
  for (int i = g.input_size() - 1; i >= 0; --i) {
    auto at = c.inputs.find(g.input(i).name());
    if (i == keep || at == c.inputs.end()) continue;
    *g.add_initializer() = encode(at->second, at->first);
    g.mutable_input()->DeleteSubrange(i, 1);
    any = true;
  }
  return any;
}
bool from_initializer(HostileCase& c, Dice& dice) {
  GraphProto& g = *c.model.mutable_graph();
  if (g.initializer_size() == 0) return false;
  TensorProto& t = *g.mutable_initializer(dice.below(g.initializer_size()));
  switch (dice.below(4)) {
    case 0: t.set_name(some_value(g, dice)); break;  // defined twice
    case 1: t.clear_name(); break;
    case 2: {
      TensorProto copy = t;
      *g.add_initializer() = copy;
      break;
    }
    default: {
      ValueInfoProto* v = g.add_input();
      v->set_name(t.name());
      v->mutable_type()->mutable_tensor_type()->set_elem_type(dice.one_in(3) ? 7 : t.data_type());
      for (int64_t d : t.dims())
        v->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
    }
  }
  return true;
}

// One name becomes another, wherever it stands or in one place only.
bool rename(HostileCase& c, Dice& dice) {
  GraphProto& g = *c.model.mutable_graph();
  std::string was = some_value(g, dice), is = strange_name(dice);
  if (was.empty() || g.node_size() == 0) return false;
  NodeProto* lone = dice.one_in(4) ? g.mutable_node(dice.below(g.node_size())) : nullptr;
  if (dice.one_in(4)) {
    g.mutable_node(dice.below(g.node_size()))->set_name(is);
    return true;
  }
  for (NodeProto& n : *g.mutable_node()) {
    if (lone != nullptr && lone != &n) continue;
    for (std::string& s : *n.mutable_input()) s = s == was ? is : s;
    for (std::string& s : *n.mutable_output()) s = s == was ? is : s;
  }
  if (lone != nullptr) return true;
  for (auto* list : {g.mutable_input(), g.mutable_output()}) {
    for (ValueInfoProto& v : *list) {
      if (v.name() == was) v.set_name(is);
    }
  }
  for (TensorProto& t : *g.mutable_initializer()) {
    if (t.name() == was) t.set_name(is);
  }
  auto fed = c.inputs.extract(was);
  if (!fed.empty()) {
    fed.key() = is;
    c.inputs.insert(std::move(fed));
  }
  return true;
}

bool other_opset(HostileCase& c, Dice& dice) {
  static constexpr int64_t kOdd[] = {0, -1, 29, 999, INT64_MAX, INT64_MIN, 28, 1, 7};
  if (c.model.opset_import_size() == 0 || dice.one_in(10)) {
    c.model.add_opset_import()->set_version(1 + dice.below(28));
  } else {
    auto* o = c.model.mutable_opset_import(dice.below(c.model.opset_import_size()));
    o->set_version(dice.one_in(4) ? dice.of(kOdd) : 1 + dice.below(28));
    if (dice.one_in(20)) o->set_domain("elsewhere");
  }
  if (dice.one_in(10)) c.model.set_ir_version(wild_int(dice));
  return true;
}
bool odds_and_ends(HostileCase& c, Dice& dice) {
  switch (dice.below(6)) {
    case 0:
      c.model.clear_graph();
      c.model.mutable_graph();
      break;
    case 1: c.model.mutable_graph()->add_sparse_initializer(); break;
    case 2: c.model.clear_opset_import(); break;
    case 4: graphs_of(c.model)[0]->clear_output(); break;
    case 3:
      c.model.add_metadata_props()->set_key(dice.one_in(2) ? "wick.labels" : strange_name(dice));
      c.model.mutable_metadata_props(c.model.metadata_props_size() - 1)
          ->set_value(strange_name(dice) + "\n\n" + strange_name(dice));
      break;
    default: c.model.mutable_graph()->set_name(strange_name(dice));
  }
  return true;
}

constexpr Mutation kMutations[] = {
    {"wild input", wild_input},
    {"wild input", wild_input},
    {"wild input", wild_input},
    {"other shape", other_shape},
    {"other shape", other_shape},
    {"other shape", other_shape},
    {"declared type", declared_type},
    {"declared type", declared_type},
    {"inputs and outputs", change_lists},
    {"tensor", change_tensor},
    {"tensor", change_tensor},
    {"to initializer", to_initializer},
    {"all to initializers", all_to_initializers},
    {"initializer", from_initializer},
    {"rename", rename},
    {"opset", other_opset},
    {"odds and ends", odds_and_ends},
};

}  // namespace

Span<const Mutation> value_mutations() { return kMutations; }

}  // namespace wick::test
