// Functions that are one node of the graph, and whose gradient is one op: they have the bits of the
// ops that they are made of, which capture and forward mode see.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "wick/trainer.h"

namespace wick {
namespace {

using List = std::vector<Tensor>;

struct Ops : TraceHook {
  std::vector<std::string> seen;
  void on_op(const TraceEvent& e) override { seen.emplace_back(e.op); }
  int64_t count(const std::string& op) const { return std::count(seen.begin(), seen.end(), op); }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.raw_shape() == b.raw_shape())) return false;
  const Tensor p = a.detach().contiguous(), q = b.detach().contiguous();
  return p.numel() == 0 ||
         memcmp(p.data<float>(), q.data<float>(), static_cast<size_t>(p.numel()) * 4) == 0;
}

// Expects the same result and gradients of both, with and without a history of the gradients.
void expect_same(const std::function<Tensor(const List&)>& one,
                 const std::function<Tensor(const List&)>& ops, const List& in) {
  for (bool create_graph : {false, true}) {
    const auto run = [&](const std::function<Tensor(const List&)>& f, List* all) {
      List leaves;
      for (const Tensor& t : in) leaves.push_back(t.clone().requires_grad_());
      const Tensor y = f(leaves);
      manual_seed(11);
      const Tensor g = randn(y.raw_shape());
      *all = grad({y}, leaves, {g}, create_graph, create_graph);
      all->push_back(y);
      if (!create_graph) return;
      Tensor total = zeros({});
      for (size_t i = 0; i < leaves.size(); ++i) {
        if ((*all)[i].requires_grad()) total = total + sum((*all)[i] * (*all)[i]);
      }
      if (!total.requires_grad()) return;
      for (const Tensor& t : grad({total}, leaves, {}, false, false, true))
        all->push_back(t.defined() ? t : zeros({}));
    };
    List got, want;
    run(one, &got);
    run(ops, &want);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], want[i])) << "tensor " << i << ", history " << create_graph;
  }
}

struct Taps {
  std::vector<int64_t> from[2];
  std::vector<float> weight[2];
};

// Where the outputs of a linear interpolation lie, in PyTorch's arithmetic.
Taps taps(int64_t in, int64_t out, double factor, bool corners) {
  Taps t;
  const double scale =
      factor != 0 ? 1.0 / factor : static_cast<double>(in) / static_cast<double>(out);
  const double step =
      static_cast<double>(in - 1) / static_cast<double>(std::max<int64_t>(out - 1, 1));
  for (int64_t o = 0; o < out; ++o) {
    const auto x = static_cast<double>(o);
    const double place = corners ? step * x : std::fmax(scale * (x + 0.5) - 0.5, 0);
    const int64_t low = std::min(static_cast<int64_t>(place), in - 1);
    const double high = place - static_cast<double>(low);
    t.from[0].push_back(low), t.from[1].push_back(std::min(low + 1, in - 1));
    t.weight[0].push_back(static_cast<float>(1 - high));
    t.weight[1].push_back(static_cast<float>(high));
  }
  return t;
}

Tensor resized(const Tensor& x, int dim, const Taps& t) {
  Tensor y;
  for (int k = 0; k < 2; ++k) {
    Shape line;
    for (int d = 0; d < x.rank(); ++d) line.push_back(d == dim ? -1 : 1);
    const Tensor part = index_select(x, dim, tensor(t.from[k])) * tensor(t.weight[k]).reshape(line);
    y = k == 0 ? part : y + part;
  }
  return y;
}

TEST(OneNode, InterpolateHasTheBitsOfItsOps) {
  manual_seed(5);
  struct Case {
    Shape x;
    double factor;  // 0: to these sizes
    int64_t h, w;
  };
  for (const Case& c :
       {Case{{2, 3, 5, 7}, 2, 10, 14}, Case{{1, 2, 40, 56}, 2, 80, 112},
        Case{{1, 2, 9, 33}, 0.5, 4, 16}, Case{{2, 2, 4, 6}, 1.5, 6, 9}, Case{{1, 1, 1, 1}, 0, 3, 4},
        Case{{2, 3, 6, 5}, 0, 1, 1}, Case{{1, 3, 8, 21}, 0, 5, 50}, Case{{3, 1, 4, 4}, 0, 4, 4}}) {
    for (bool corners : {false, true}) {
      InterpolateOptions o;
      o.mode = "bilinear";
      o.align_corners = corners;
      if (c.factor != 0) o.scale_factor = {c.factor};
      if (c.factor == 0) o.size = {c.h, c.w};
      SCOPED_TRACE(std::string(to_text(c.x).text) + " to " + std::to_string(c.w));
      expect_same([&](const List& in) { return interpolate(in[0], o); },
                  [&](const List& in) {
                    const Tensor y = resized(in[0], 2, taps(c.x[2], c.h, c.factor, corners));
                    return resized(y, 3, taps(c.x[3], c.w, c.factor, corners));
                  },
                  {randn(c.x)});
    }
  }
  InterpolateOptions line;
  line.mode = "linear";
  line.scale_factor = {2};
  expect_same([&](const List& in) { return interpolate(in[0], line); },
              [&](const List& in) { return resized(in[0], 2, taps(19, 38, 2, false)); },
              {randn({2, 3, 19})});
}

TEST(OneNode, InterpolateKeepsNothingOfItsInput) {
  Tensor x = randn({1, 2, 4, 4}), leaf = x.clone().requires_grad_();
  Tensor twice = leaf * 2;
  const Tensor y = interpolate(twice, {.scale_factor = {2}, .mode = "bilinear"});
  twice.add_(1);  // it is not read again
  sum(y).backward();
  EXPECT_TRUE(allclose(leaf.grad(), full({1, 2, 4, 4}, 8)));
}

Tensor group_norm_in_ops(const Tensor& x, int64_t groups, const Tensor& w, const Tensor& b) {
  const Shape& s = x.raw_shape();
  const Tensor rows = x.reshape({s[0], groups, x.numel() / s[0] / groups});
  const Tensor centred = rows - mean(rows, {2}, true);
  const Tensor var = mean(square(centred), {2}, true);
  Tensor y = (centred / sqrt(var + 1e-5)).reshape(s);
  Shape line;
  for (int d = 0; d < x.rank(); ++d) line.push_back(d == 1 ? s[1] : 1);
  if (w.defined()) y = y * w.reshape(line);
  if (b.defined()) y = y + b.reshape(line);
  return y;
}

TEST(OneNode, GroupNormHasTheBitsOfItsOps) {
  manual_seed(6);
  for (const Shape& x : {Shape{2, 6, 5, 7}, Shape{3, 4}, Shape{1, 6, 33}, Shape{4, 2, 3, 3, 3},
                         Shape{2, 8, 40, 50}, Shape{2, 4, 90, 100}}) {
    for (int64_t groups : {int64_t{1}, int64_t{2}, x[1]}) {
      for (int form = 0; form < 4; ++form) {
        SCOPED_TRACE(std::string(to_text(x).text) + " in " + std::to_string(groups) +
                     " groups, form " + std::to_string(form));
        List in = {randn(x) * 2 + 0.5};
        if ((form & 1) != 0) in.push_back(randn({x[1]}));
        if ((form & 2) != 0) in.push_back(randn({x[1]}));
        const auto weight = [&](const List& t) { return (form & 1) != 0 ? t[1] : Tensor(); };
        const auto bias = [&](const List& t) { return (form & 2) != 0 ? t.back() : Tensor(); };
        expect_same(
            [&](const List& t) { return group_norm(t[0], groups, weight(t), bias(t)); },
            [&](const List& t) { return group_norm_in_ops(t[0], groups, weight(t), bias(t)); }, in);
      }
    }
  }
}

// Its gradient as ops, which a history of it asks for, has the bits of the one op.
TEST(OneNode, LayerNormsGradientHasTheBitsOfItsOps) {
  manual_seed(7);
  for (const Shape& x : {Shape{3, 5, 7}, Shape{70, 33}, Shape{1, 4100}, Shape{5000, 9}}) {
    for (int form = 0; form < 4; ++form) {
      List in = {randn(x) * 2 + 0.5};
      const Shape row{x[x.rank() - 1]};
      for (int k = 0; k < 2; ++k) {
        if ((form >> k & 1) != 0) in.push_back(randn(row));
      }
      List found[2];
      for (bool create_graph : {false, true}) {
        List leaves;
        for (const Tensor& t : in) leaves.push_back(t.clone().requires_grad_());
        const Tensor y = layer_norm(leaves[0], row, (form & 1) != 0 ? leaves[1] : Tensor(),
                                    (form & 2) != 0 ? leaves.back() : Tensor());
        manual_seed(8);
        found[create_graph] = grad({y}, leaves, {randn(x)}, create_graph, create_graph);
      }
      for (size_t i = 0; i < in.size(); ++i)
        EXPECT_TRUE(same_bits(found[0][i], found[1][i])) << "form " << form << ", gradient " << i;
    }
  }
}

// The fast kernels are what runs, and what capture sees stays as it was.
TEST(OneNode, RunsOneOp) {
  const auto ops_of = [](const std::function<void()>& f) {
    Ops ops;
    set_trace_hook(&ops);
    f();
    set_trace_hook(nullptr);
    return ops;
  };
  const Tensor image = randn({1, 4, 6, 6}).requires_grad_(), w = randn({4}).requires_grad_(),
               b = randn({4}).requires_grad_();
  Ops ops = ops_of([&] { sum(group_norm(image, 2, w, b)).backward(); });
  EXPECT_EQ(ops.count("FusedElementwise"), 1);
  EXPECT_EQ(ops.count("GroupNormGrad"), 1);
  EXPECT_EQ(ops.count("ReduceMean"), 0);
  ops = ops_of(
      [&] { sum(interpolate(image, {.scale_factor = {2}, .mode = "bilinear"})).backward(); });
  EXPECT_EQ(ops.count("Resize"), 1);
  EXPECT_EQ(ops.count("ResizeGrad"), 1);
  EXPECT_EQ(ops.count("Gather"), 0);
  const Tensor x = randn({3, 4}).requires_grad_();
  ops = ops_of([&] { sum(layer_norm(x, {4}, w, b)).backward(); });
  EXPECT_EQ(ops.count("LayerNormGrad"), 1);
}

}  // namespace
}  // namespace wick
