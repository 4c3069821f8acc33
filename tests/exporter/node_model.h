// A model of one ONNX node, run with every dimension known and with every dimension a symbol.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "wick_onnx.pb.h"

namespace wick::test {

// Values that repeat late, in about [-1, 1].
inline HostTensor floats(Shape shape, int seed, DType dtype = DType::kF32) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>((i * 37 + seed * 101) % 211) / 105.0f - 1;
  if (dtype == DType::kF32) return t;
  HostTensor wide(dtype, shape);
  for (int64_t i = 0; i < t.numel(); ++i) wide.as<double>()[i] = t.as<float>()[i];
  return wide;
}
inline HostTensor whole(Shape shape, std::vector<int64_t> values) {
  return HostTensor::of<int64_t>(shape, values);
}

class NodeModel {
 public:
  NodeModel(const std::string& op, int64_t opset) : opset_(opset) { node_.set_op_type(op); }

  NodeModel& domain(const std::string& name, int64_t version = 1) {
    node_.set_domain(name);
    version_ = version;
    return *this;
  }
  NodeModel& named(const std::string& name) {
    node_.set_name(name);
    return *this;
  }
  // An input that is left out where `t` is not present.
  NodeModel& in(HostTensor t) {
    node_.add_input(t.present() ? "x" + std::to_string(node_.input_size()) : std::string());
    if (t.present()) inputs_.push_back(std::move(t));
    return *this;
  }
  // One that the file brings as an initializer.
  NodeModel& constant(HostTensor t) {
    constants_["x" + std::to_string(node_.input_size())] = t;
    return in(std::move(t));
  }
  NodeModel& set(const std::string& name, int64_t v) {
    auto* a = attribute(name, onnx::AttributeProto::INT);
    a->set_i(v);
    return *this;
  }
  NodeModel& set(const std::string& name, int v) { return set(name, int64_t{v}); }
  NodeModel& set(const std::string& name, float v) {
    attribute(name, onnx::AttributeProto::FLOAT)->set_f(v);
    return *this;
  }
  NodeModel& set(const std::string& name, const std::string& v) {
    attribute(name, onnx::AttributeProto::STRING)->set_s(v);
    return *this;
  }
  NodeModel& set(const std::string& name, const std::vector<std::string>& v) {
    auto* a = attribute(name, onnx::AttributeProto::STRINGS);
    for (const std::string& s : v) a->add_strings(s);
    return *this;
  }
  NodeModel& set(const std::string& name, const std::vector<int64_t>& v) {
    auto* a = attribute(name, onnx::AttributeProto::INTS);
    for (int64_t i : v) a->add_ints(i);
    return *this;
  }

  NodeModel& set(const std::string& name, const std::vector<float>& v) {
    auto* a = attribute(name, onnx::AttributeProto::FLOATS);
    for (float f : v) a->add_floats(f);
    return *this;
  }
  NodeModel& set(const std::string& name, const HostTensor& v) {
    *attribute(name, onnx::AttributeProto::TENSOR)->mutable_t() = onnx::encode(v, "");
    return *this;
  }

  // Without the constants.
  std::vector<HostTensor> inputs() const {
    std::vector<HostTensor> given;
    size_t next = 0;
    for (const std::string& name : node_.input()) {
      if (name.empty()) continue;
      if (constants_.count(name) == 0) given.push_back(inputs_[next]);
      ++next;
    }
    return given;
  }
  std::vector<uint8_t> bytes(bool symbols, int outputs) const {
    return bytes([&](const std::string&, int) { return symbols; }, outputs);
  }
  // `symbols` says, by input and axis, which dims are symbols.
  std::vector<uint8_t> bytes(const std::function<bool(const std::string&, int)>& symbols,
                             int outputs) const {
    onnx::ModelProto model;
    model.set_ir_version(10);
    model.add_opset_import()->set_version(opset_);
    if (!node_.domain().empty()) {
      model.add_opset_import()->set_domain(node_.domain());
      model.mutable_opset_import(1)->set_version(version_);
    }
    auto* g = model.mutable_graph();
    *g->add_node() = node_;
    size_t next = 0;
    for (const std::string& name : node_.input()) {
      if (name.empty()) continue;
      const HostTensor& t = inputs_[next++];
      if (constants_.count(name) != 0) {
        add_constant(g->add_initializer(), name, t);
        continue;
      }
      auto* v = g->add_input();
      v->set_name(name);
      auto* type = v->mutable_type()->mutable_tensor_type();
      type->set_elem_type(static_cast<int>(t.dtype()));
      type->mutable_shape();
      for (int d = 0; d < t.shape().rank(); ++d) {
        auto* dim = type->mutable_shape()->add_dim();
        if (symbols(name, d)) {
          dim->set_dim_param(name + "_" + std::to_string(d));
        } else {
          dim->set_dim_value(t.shape()[d]);
        }
      }
    }
    for (int i = 0; i < outputs; ++i) {
      g->mutable_node(0)->add_output("y" + std::to_string(i));
      g->add_output()->set_name("y" + std::to_string(i));
    }
    std::string text = model.SerializeAsString();
    return {text.begin(), text.end()};
  }

  // The outputs of the graph as it is read; the others must have the same bits.
  std::vector<HostTensor> run(int outputs = 1) const {
    ir::Graph known = import_onnx_bytes(bytes(false, outputs)),
              open = import_onnx_bytes(bytes(true, outputs));
    ir::Graph optimized = known;
    ir::optimize(optimized);
    const std::vector<HostTensor> given = inputs();
    std::vector<HostTensor> want = ir::run(known, given);
    for (const ir::Graph* g : {&open, &optimized}) {
      std::vector<HostTensor> got = ir::run(*g, given);
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_TRUE(got[i].shape() == want[i].shape())
            << to_text(got[i].shape()).text << " " << to_text(want[i].shape()).text;
        if (!(got[i].shape() == want[i].shape())) break;
        if (want[i].dtype() == DType::kString) {
          EXPECT_TRUE(same_bits(got[i], want[i]));
          continue;
        }
        for (int64_t k = 0; k < want[i].numel(); ++k)
          expect_same(element_as_double(got[i], k), element_as_double(want[i], k), k);
      }
    }
    return want;
  }

 private:
  static void add_constant(onnx::TensorProto* to, const std::string& name, const HostTensor& t) {
    to->set_name(name);
    to->set_data_type(static_cast<int>(t.dtype()));
    for (int64_t d : t.shape()) to->add_dims(d);
    to->set_raw_data(t.data(), t.nbytes());
  }
  static void expect_same(double got, double want, int64_t element) {
    if (std::isnan(got) && std::isnan(want)) return;
    EXPECT_EQ(got, want) << element;
  }
  onnx::AttributeProto* attribute(const std::string& name,
                                  onnx::AttributeProto::AttributeType type) {
    auto* a = node_.add_attribute();
    a->set_name(name);
    a->set_type(type);
    return a;
  }
  int64_t opset_, version_ = 1;  // of the default domain, of the node's
  onnx::NodeProto node_;
  std::vector<HostTensor> inputs_;
  std::map<std::string, HostTensor> constants_;
};

inline void expect_near(const HostTensor& got, const Shape& shape, const std::vector<double>& want,
                        double room = 1e-5) {
  ASSERT_TRUE(got.shape() == shape)
      << to_text(got.shape()).text << ", expected " << to_text(shape).text;
  for (size_t i = 0; i < want.size(); ++i) {
    const double x = element_as_double(got, static_cast<int64_t>(i));
    if (want[i] == x) continue;
    EXPECT_NEAR(x, want[i], room * (1 + std::fabs(want[i]))) << "element " << i;
  }
}

}  // namespace wick::test
