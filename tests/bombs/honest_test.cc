// Honest files that are large, or that expand to more than their size, are read.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/bombs/bomb.h"
#include "tests/support/temp_folder.h"
#include "wick/compile.h"
#include "wick/error.h"

namespace wick {
namespace {

using bombs::Model;

ir::Graph read(const Model& m, const OnnxReadOptions& options = {}) {
  const std::string bytes = m.model.SerializeAsString();
  return import_onnx_bytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "",
                           options);
}

TEST(Honest, FortyThousandNodes) {
  Model m;
  m.input("x", 1, {"n", "8"}).floats("w", {8, 8}, std::vector<float>(64, 0.5F));
  std::string at = "x";
  for (int k = 0; k < 20000; ++k) {
    const std::string id = std::to_string(k);
    m.node("MatMul", {at, "w"}, {"m" + id}).node("Relu", {"m" + id}, {"r" + id});
    at = "r" + id;
  }
  LedgerLimits spent;
  OnnxReadOptions options;
  options.spent = &spent;
  EXPECT_EQ(read(m.output(at), options).node_count(), 40000u);
  EXPECT_EQ(spent.visits, 40000u * 8);
}

// 3 GB of weights in the full run, 48 MB else; the file is a hole.
TEST(Honest, GigabytesBesideTheModel) {
  const int64_t side = getenv("WICK_TEST_FULL") != nullptr ? 1 << 14 : 1 << 11;
  const std::string folder = test::temp_folder(), path = folder + "m.onnx";
  const int64_t each = side * side;
  Model m;
  m.input("x", 1, {"n", std::to_string(side)});
  std::string at = "x";
  for (int k = 0; k < 3; ++k) {
    const std::string w = "w" + std::to_string(k), y = "y" + std::to_string(k);
    onnx::TensorProto* t = m.graph().add_initializer();
    t->set_name(w), t->set_data_type(1), t->add_dims(side), t->add_dims(side);
    t->set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair{"location", std::string("m.data")}, {"offset", std::to_string(4 * each * k)}}) {
      t->add_external_data()->set_key(key);
      t->mutable_external_data(t->external_data_size() - 1)->set_value(value);
    }
    m.node("MatMul", {at, w}, {y});
    at = y;
  }
  m.output(at);
  std::ofstream(path, std::ios::binary) << m.model.SerializeAsString();
  std::ofstream(folder + "m.data", std::ios::binary).put('\0');
  ASSERT_EQ(truncate((folder + "m.data").c_str(), 12 * each), 0);
  OnnxReadOptions options;
  options.weights_stay = true;
  ir::Graph g = import_onnx(path, options);
  ir::optimize(g);
  EXPECT_EQ(g.node_count(), 3u);
}

// A weight that is turned, cast and joined is one weight in the end, however large.
TEST(Honest, WeightsThatAreTurnedAndCast) {
  Model m;
  m.input("x", 10, {"n", "1024"});
  m.floats("w", {1024, 1024}, std::vector<float>(1 << 20, 0.5F));
  m.node("Transpose", {"w"}, {"t"}).node("Cast", {"t"}, {"h"}).attr("to", 10);
  m.node("MatMul", {"x", "h"}, {"y"}).output("y");
  ir::Graph g = read(m);
  const ir::PassReport report = ir::optimize(g);
  EXPECT_EQ(g.node_count(), 1u);
  EXPECT_GE(report.spent.bytes, uint64_t{10} << 20);
}

// Limits that the file's size does not allow can be raised by options.
TEST(Honest, OptionsRaiseTheLimits) {
  Model m;
  onnx::SparseTensorProto* s = m.graph().add_sparse_initializer();
  s->add_dims(1 << 21);
  s->mutable_values()->set_name("s"), s->mutable_values()->set_data_type(1);
  s->mutable_values()->add_dims(1), s->mutable_values()->add_float_data(1);
  s->mutable_indices()->set_data_type(7), s->mutable_indices()->add_dims(1);
  s->mutable_indices()->add_int64_data(0);
  m.node("Neg", {"s"}, {"y"}).output("y");
  LedgerLimits spent;
  OnnxReadOptions options;
  options.spent = &spent;
  try {
    read(m, options);
    ADD_FAILURE() << "8 MiB of 100 bytes";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kBudgetExceeded);
    for (const char* told : {"'s'", "8388608 bytes", "OnnxReadOptions::max_ram"})
      EXPECT_NE(std::string(e.what()).find(told), std::string::npos) << e.what();
  }
  EXPECT_EQ(spent.bytes, 0u);
  options.max_ram = 1 << 23;
  read(m, options);
  EXPECT_EQ(spent.bytes, 1u << 23);
  options.max_visits = 7;
  try {
    read(m, options);
    ADD_FAILURE() << "a node is 8 visits";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kBudgetExceeded);
    EXPECT_NE(std::string(e.what()).find("OnnxReadOptions::max_visits"), std::string::npos);
  }
}

}  // namespace
}  // namespace wick
