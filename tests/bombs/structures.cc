// Parts of a file that are read many times: functions, branches, loops, names; and tensors that
// expand to more than their bytes.
#include "tests/bombs/bomb.h"

namespace wick::bombs {
namespace {

using namespace onnx;  // NOLINT: the messages

// A body whose outputs are its inputs, but for the number of the trip.
GraphProto same_body(const std::string& id, int carried) {
  Model body;
  body.input("i" + id, 7, {}).input("c" + id, 9, {});
  body.node("Identity", {"c" + id}, {"d" + id}).output("d" + id);
  for (int k = 0; k < carried; ++k) {
    const std::string x = "x" + id + "_" + std::to_string(k);
    body.input(x, 1, {"2"}).node("Neg", {x}, {"n" + x}).output("n" + x);
  }
  return body.graph();
}

void add_loops(std::vector<Bomb>* to) {
  auto& all = *to;
  {
    Model m;
    m.ints("n", {}, {int64_t{1} << 62}).floats("x", {2}, {1, 2});
    m.node("Loop", {"n", "", "x"}, {"y"}).graph_attr("body", same_body("", 1));
    all.push_back(m.output("y").bomb("loop_2_62"));
  }
  {
    GraphProto inner = same_body("", 1);
    for (int k = 0; k < 5; ++k) {
      const std::string id = std::to_string(k);
      Model body;
      body.input("i" + id, 7, {}).input("c" + id, 9, {}).input("v" + id, 1, {"2"});
      body.node("Identity", {"c" + id}, {"d" + id});
      body.node("Loop", {"n", "", "v" + id}, {"w" + id}).graph_attr("body", inner);
      inner = body.output("d" + id).output("w" + id).graph();
    }
    Model m;
    m.ints("n", {}, {int64_t{1} << 62}).floats("x", {2}, {1, 2});
    m.node("Loop", {"n", "", "x"}, {"y"}).graph_attr("body", inner);
    all.push_back(m.output("y").bomb("loops_in_loops"));
  }
  {  // carried shapes that settle late, in loops within loops
    GraphProto inner;
    for (int k = 0; k < 14; ++k) {
      const std::string id = std::to_string(k);
      Model body;
      body.input("i" + id, 7, {}).input("c" + id, 9, {});
      body.graph().add_input()->set_name("v" + id);
      body.node("Identity", {"c" + id}, {"d" + id});
      if (k == 0) {
        body.node("Concat", {"v" + id, "x"}, {"w" + id}).attr("axis", 0);
      } else {
        body.node("Loop", {"n", "", "v" + id}, {"w" + id}).graph_attr("body", inner);
      }
      inner = body.output("d" + id).output("w" + id).graph();
    }
    Model m;
    m.input("n", 7, {}).input("x", 1, {"2"});
    m.node("Loop", {"n", "", "x"}, {"y"}).graph_attr("body", inner);
    all.push_back(m.output("y").bomb("loops_that_settle_late", "max_visits"));
  }
  {
    Model body;
    body.input("s", 1, {"2"}).input("e", 1, {"2"});
    body.node("Add", {"s", "e"}, {"t"}).node("Neg", {"e"}, {"u"}).output("t").output("u");
    Model m;
    m.floats("s0", {2}, {1, 2}).filled("x", {1 << 28, 2});
    m.node("Scan", {"s0", "x"}, {"z", "y"}).attr("num_scan_inputs", 1);
    m.graph_attr("body", body.graph());
    all.push_back(m.output("y").bomb("scan"));
  }
}

void add_branches(std::vector<Bomb>* to) {
  auto& all = *to;
  {  // one in another
    GraphProto inner = Model().node("Neg", {"x"}, {"z"}).output("z").graph();
    for (int k = 0; k < 6; ++k) {
      const std::string id = std::to_string(k);
      Model m;
      m.node("If", {"go"}, {"r" + id}).graph_attr("then_branch", inner);
      m.graph_attr("else_branch", Model().node("Neg", {"x"}, {"e" + id}).output("e" + id).graph());
      inner = m.output("r" + id).graph();
    }
    Model m;
    m.input("go", 9, {}).input("x", 1, {"2"}).node("If", {"go"}, {"y"});
    m.graph_attr("then_branch", inner);
    m.graph_attr("else_branch", Model().node("Neg", {"x"}, {"e"}).output("e").graph());
    all.push_back(m.output("y").bomb("branches_in_branches"));
  }
  all.push_back(branches(40, 60).bomb("branches_times_sizes"));
}

FunctionProto* function(Model* m, const std::string& name) {
  FunctionProto* f = m->model.add_functions();
  f->set_name(name), f->set_domain("local");
  for (const char* domain : {"", "local"}) {
    f->add_opset_import()->set_domain(domain);
    f->mutable_opset_import(f->opset_import_size() - 1)->set_version(*domain == 0 ? 23 : 1);
  }
  f->add_input("a"), f->add_output("b");
  return f;
}

// F0 is a Relu; every other one calls the one before it twice.
Model doubling(int levels, const std::string& call_name) {
  Model m;
  for (int k = 0; k <= levels; ++k) {
    FunctionProto* f = function(&m, "F" + std::to_string(k));
    for (const char* out : {"t", "b"}) {
      NodeProto* n = f->add_node();
      n->set_op_type(k == 0 ? "Relu" : "F" + std::to_string(k - 1));
      n->set_domain(k == 0 ? "" : "local"), n->set_name(call_name);
      n->add_input(*out == 't' ? "a" : "t"), n->add_output(out);
    }
  }
  m.input("x", 1, {"2"}).node("F" + std::to_string(levels), {"x"}, {"y"}, "local");
  m.output("y");
  return m;
}

void add_names(std::vector<Bomb>* to) {
  auto& all = *to;
  all.push_back(doubling(30, "").bomb("functions_that_double", "written out"));
  all.push_back(doubling(11, "").bomb("functions_below_the_bound"));
  all.push_back(doubling(12, std::string(300, 'n')).bomb("functions_with_names", "written out"));
  {
    Model m;
    const std::string name(4500, 'n');
    m.input("x", 1, {"2"}).node("Relu", {"x"}, {name}).node("Neg", {name}, {"y"});
    all.push_back(m.output("y").bomb("name_of_4500", "4096"));
  }
  {
    Model m;
    Model::Names dims(8, std::string(900, 's'));
    for (size_t d = 0; d < 8; ++d) dims[d] += std::to_string(d);
    m.input("x", 1, dims);
    for (int k = 0; k < 35; ++k) {
      const std::string x = k == 0 ? "x" : "t" + std::to_string(k - 1), y = "t" + std::to_string(k);
      m.node("Transpose", {x}, {y}).attr("perm", Model::Ints{1, 2, 3, 4, 5, 6, 7, 0}).output(y);
    }
    all.push_back(m.bomb("sizes_of_long_names"));
  }
  {
    Model m;
    m.node("Constant", {}, {"y"}).attr("value_ints", Model::Ints(4900, 1));
    all.push_back(m.output("y").bomb("list_of_4900"));
  }
  {
    Model m;
    m.input("x", 1, {"2"}).node("Transpose", {"x"}, {"y"}).attr("perm", Model::Ints(4900, 0));
    all.push_back(m.output("y").bomb("perm_of_4900", "perm"));
  }
  {  // a size that is a sum, and the product of that with itself
    Model m;
    m.input("x", 1, {"a", "b", "c"});
    std::string at = "x";
    for (int k = 0; k < 120; ++k) {
      const std::string id = std::to_string(k), c = "c" + id, t = "t" + id;
      m.node("Concat", {at, at}, {c}).attr("axis", k % 3);
      m.node("Transpose", {c}, {t}).attr("perm", Model::Ints{1, 2, 0});
      at = t;
    }
    all.push_back(m.output(at).bomb("sizes_that_double"));
  }
  {
    Model m;
    m.input("x", 1, {"a", "b", "c"}).node("Shape", {"x"}, {"s0"});
    m.ints("turn", {3}, {1, 2, 0});
    for (int k = 0; k < 60; ++k) {
      const std::string id = std::to_string(k), s = "s" + id;
      m.node("Gather", {s, "turn"}, {"g" + id})
          .node(k % 2 == 0 ? "Add" : "Mul", {s, "g" + id}, {"s" + std::to_string(k + 1)});
    }
    m.node("ConstantOfShape", {"s60"}, {"y"});
    all.push_back(m.output("y").bomb("sizes_that_square"));
  }
  {  // sixty-four elements, each a long expression
    Model m;
    Model::Names dims;
    for (char d = 'a'; d < 'i'; ++d) dims.emplace_back(1, d);
    m.input("x", 1, dims).node("Shape", {"x"}, {"s"});
    m.node("Concat", {"s", "s", "s", "s", "s", "s", "s", "s"}, {"e0"}).attr("axis", 0);
    Model::Ints order;
    for (int64_t k = 0; k < 64; ++k) order.push_back((7 * k + 3) % 64);
    m.ints("o", {64}, order);
    for (int k = 0; k < 80; ++k) {
      const std::string id = std::to_string(k), e = "e" + id;
      m.node("Gather", {e, "o"}, {"g" + id})
          .node("Add", {e, "g" + id}, {"e" + std::to_string(k + 1)});
    }
    all.push_back(m.output("e80").bomb("elements_that_grow"));
  }
}

void put_sparse(SparseTensorProto* s, const std::string& name, int64_t dim) {
  s->add_dims(dim);
  s->mutable_values()->set_name(name), s->mutable_values()->set_data_type(1);
  s->mutable_values()->add_dims(1), s->mutable_values()->add_float_data(1);
  s->mutable_indices()->set_data_type(7), s->mutable_indices()->add_dims(1);
  s->mutable_indices()->add_int64_data(0);
}

void add_sparse(std::vector<Bomb>* to) {
  auto& all = *to;
  const auto sparse = [](int count, int64_t dim) {
    Model m;
    for (int k = 0; k < count; ++k) {
      const std::string name = "s" + std::to_string(k), made = "y" + std::to_string(k);
      put_sparse(m.graph().add_sparse_initializer(), name, dim);
      m.node("Neg", {name}, {made}).output(made);
    }
    return m;
  };
  all.push_back(sparse(1, 1 << 26).bomb("sparse_256_mib", "max_ram"));
  all.push_back(sparse(12, 1 << 26).bomb("sparse_12", "max_ram"));
  all.push_back(sparse(120, 1 << 17).bomb("sparse_120_small", "max_ram"));
  all.push_back(sparse(4, 1 << 18).bomb("sparse_below_the_bound"));
}

}  // namespace

Model branches(int inputs, int count) {
  Model m;
  m.input("go", 9, {}).input("x", 1, {"2"});
  for (int k = 0; k < inputs; ++k) {
    Model::Names dims;
    for (int d = 0; d < 8; ++d) dims.push_back("s" + std::to_string(8 * k + d));
    m.input("i" + std::to_string(k), 1, dims);
  }
  const GraphProto z = Model().node("Neg", {"x"}, {"z"}).output("z").graph();
  for (int k = 0; k < count; ++k) {
    const std::string r = "r" + std::to_string(k);
    m.node("If", {"go"}, {r}).graph_attr("then_branch", z).graph_attr("else_branch", z).output(r);
  }
  return m;
}

void add_structures(std::vector<Bomb>* to) {
  add_loops(to);
  add_branches(to);
  add_names(to);
  add_sparse(to);
  {  // in Constants, of which the reader decodes the same
    Model m;
    for (int k = 0; k < 12; ++k) {
      const std::string id = std::to_string(k);
      m.node("Constant", {}, {"c" + id});
      auto* a = m.graph().mutable_node(2 * k)->add_attribute();
      a->set_name("sparse_value"), a->set_type(AttributeProto::SPARSE_TENSOR);
      put_sparse(a->mutable_sparse_tensor(), "v", 1 << 26);
      m.node("Neg", {"c" + id}, {"y" + id}).output("y" + id);
    }
    to->push_back(m.bomb("sparse_constants", "max_ram"));
  }
}

}  // namespace wick::bombs
