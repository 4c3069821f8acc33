// describe(), render(), to_dot(): whole texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "trainer/explain/describe.h"
#include "trainer/explain/render.h"
#include "trainer/nn/layers.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

// The six of a tensor, its offset, version and grad_fn.
TEST(Describe, LeafViewAndResult) {
  Tensor w = tensor({{1.F, 2.F, 3.F}, {4.F, 5.F, 6.F}}).named("w").requires_grad_();
  EXPECT_EQ(describe(w),
            "tensor 'w'\n"
            "  storage        24 bytes\n"
            "  offset         0\n"
            "  shape          [2,3]\n"
            "  stride         [3,1], contiguous\n"
            "  dtype          float32\n"
            "  device         cpu\n"
            "  requires_grad  true\n"
            "  version        0\n"
            "  grad_fn        none: a leaf\n"
            "  made at        graph_text_test.cc:17\n"
            "  grad           none\n");
  Tensor column;
  {
    NoGrad guard;
#line 100 "guide.cc"
    column = w.t().select(0, 1);
    w.add_(ones({2, 3}));
#line 35 "graph_text_test.cc"
  }
  EXPECT_EQ(describe(column),
            "tensor\n"
            "  storage        24 bytes, shared with other tensors\n"
            "  offset         1\n"
            "  shape          [2]\n"
            "  stride         [3], not contiguous\n"
            "  dtype          float32\n"
            "  device         cpu\n"
            "  requires_grad  false\n"
            "  version        1\n"
            "  grad_fn        none: a leaf\n"
            "  view           squeeze of float32[1,2]\n"
            "  made at        graph_text_test.cc:17\n"
            "  grad           none\n");
#line 200 "guide.cc"
  Tensor y = w * 2.0;
#line 50 "graph_text_test.cc"
  y.sum().backward();
  EXPECT_EQ(describe(y),
            "tensor\n"
            "  storage        24 bytes\n"
            "  offset         0\n"
            "  shape          [2,3]\n"
            "  stride         [3,1], contiguous\n"
            "  dtype          float32\n"
            "  device         cpu\n"
            "  requires_grad  true\n"
            "  version        0\n"
            "  grad_fn        mul\n"
            "  made at        guide.cc:200\n"
            "  grad           none\n");
  EXPECT_EQ(description(w).grad, "float32[2,3]");
  EXPECT_EQ(describe(Tensor()), "undefined tensor\n");
}

TEST(Describe, WhereInTheModelAndWhichOutput) {
  struct Net : nn::Module {
    nn::Child<nn::Linear> fc1{this, "fc1", 4, 3};
    Tensor forward(const Arg& x) override { return fc1(x); }
  } net;
  Description d = description(net(ones({2, 4})));
  EXPECT_EQ(d.grad_fn, "linear");
  EXPECT_EQ(d.module, "fc1");
}

// SlowTorch's example: (a + b) * c.
TEST(Render, SumTimesC) {
  Tensor a = tensor({1.F, 2.F}).named("a").requires_grad_();
  Tensor b = tensor({3.F, 4.F}).named("b").requires_grad_();
  Tensor c = tensor({5.F, 6.F}).named("c").requires_grad_();
#line 8 "example.cc"
  Tensor d = a + b;
  Tensor e = d * c;
#line 97 "graph_text_test.cc"
  EXPECT_EQ(render(e),
            "#5 mul [2] (example.cc:9)\n"
            "|-- #3 add [2] (example.cc:8)\n"
            "|   |-- #1 leaf 'a' [2]\n"
            "|   `-- #2 leaf 'b' [2]\n"
            "`-- #4 leaf 'c' [2]\n");
  EXPECT_EQ(render(e, true),
            "#5 mul float32[2] (example.cc:9)\n"
            "|-- #3 add float32[2] (example.cc:8)\n"
            "|   |-- #1 leaf 'a' float32[2]\n"
            "|   `-- #2 leaf 'b' float32[2]\n"
            "`-- #4 leaf 'c' float32[2]\n");
  EXPECT_EQ(to_dot(e),
            "digraph history {\n"
            "  rankdir=BT;\n"
            "  n1 [shape=ellipse, label=\"leaf 'a' [2]\"];\n"
            "  n2 [shape=ellipse, label=\"leaf 'b' [2]\"];\n"
            "  n3 [shape=box, label=\"add [2] (example.cc:8)\"];\n"
            "  n1 -> n3;\n"
            "  n2 -> n3;\n"
            "  n4 [shape=ellipse, label=\"leaf 'c' [2]\"];\n"
            "  n5 [shape=box, label=\"mul [2] (example.cc:9)\"];\n"
            "  n3 -> n5;\n"
            "  n4 -> n5;\n"
            "}\n");
}

TEST(Render, ReuseConstantsAndModules) {
  struct Net : nn::Module {
    nn::Child<nn::Linear> fc1{this, "fc1", 2, 2};
    Tensor forward(const Arg& x) override { return fc1(x); }
  } net;
  net.parameters();
  Tensor x = ones({1, 2});
#line 20 "example.cc"
  Tensor h = net(x);
  Tensor y = h * h + x;
#line 132 "graph_text_test.cc"
  EXPECT_EQ(render(y),
            "#5 add [1,2] (example.cc:21)\n"
            "|-- #4 mul [1,2] (example.cc:21)\n"
            "|   |-- #3 linear [1,2] (example.cc:20, fc1)\n"
            "|   |   |-- constant [1,2]\n"
            "|   |   |-- #1 leaf 'fc1.weight' [2,2]\n"
            "|   |   `-- #2 leaf 'fc1.bias' [2]\n"
            "|   `-- #3 linear [1,2] (example.cc:20, fc1) (see above)\n"
            "`-- constant [1,2]\n");
  y.sum().backward();
  EXPECT_NE(render(y).find("freed by backward"), std::string::npos);
}

// A long chain neither overflows the stack nor prints a line a node.
TEST(Render, LongChain) {
  Tensor x = ones({1}).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < 50000; ++i) y = y + 1.0;
  std::string text = render(y, false, 10);
  EXPECT_EQ(text.substr(0, 12), "#50001 add [");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 22);
  EXPECT_NE(text.find("...\n"), std::string::npos);
}

// The part of DOT's grammar that we write: `digraph ID {`, then attribute, node and edge
// statements; every edge between declared nodes; quotes closed and escaped.
std::string dot_problem(const std::string& dot) {
  std::set<std::string> declared;
  size_t at = 0;
  auto spaces = [&] {
    while (at < dot.size() && isspace(static_cast<unsigned char>(dot[at]))) ++at;
  };
  auto id = [&] {
    spaces();
    std::string s;
    if (at < dot.size() && dot[at] == '"') {
      for (++at; at < dot.size() && dot[at] != '"'; ++at) {
        if (dot[at] == '\\') ++at;
        s += dot[at];
      }
      if (at >= dot.size()) return std::string("<open quote>");
      ++at;
      return s;
    }
    while (at < dot.size() && (isalnum(static_cast<unsigned char>(dot[at])) || dot[at] == '_')) {
      s += dot[at++];
    }
    return s;
  };
  auto take = [&](const std::string& what) {
    spaces();
    if (dot.compare(at, what.size(), what) != 0) return false;
    at += what.size();
    return true;
  };
  if (id() != "digraph" || id().empty() || !take("{")) return "header";
  while (!take("}")) {
    const std::string from = id();
    if (from.empty()) return "statement at " + std::to_string(at);
    if (take("=")) {
      if (id().empty()) return "attribute";
    } else if (take("->")) {
      const std::string to = id();
      if (declared.count(from) == 0 || declared.count(to) == 0) return "edge " + from + " " + to;
    } else if (take("[")) {
      do {
        if (id().empty() || !take("=") || id().empty()) return "attribute of " + from;
      } while (take(","));
      if (!take("]")) return "bracket of " + from;
      declared.insert(from);
    }
    if (!take(";")) return "semicolon at " + std::to_string(at);
  }
  spaces();
  return at == dot.size() ? "" : "text after the graph";
}

TEST(Render, DotIsWellFormedWhateverTheNames) {
  Tensor a = ones({2}).named("a \"quoted\" \\ name").requires_grad_();
  Tensor y = (a * a + ones({2})).sum();
  EXPECT_EQ(dot_problem(to_dot(y, true)), "");
  EXPECT_EQ(dot_problem(to_dot(a)), "");
  EXPECT_EQ(dot_problem(to_dot(Tensor())), "");
  EXPECT_NE(dot_problem("digraph g { a -> b; }"), "");  // the parser itself
}

}  // namespace
}  // namespace wick
