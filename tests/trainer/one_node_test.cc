// Functions that are one node of the graph, and whose gradient is one op: they have the bits of the
// ops that they are made of, which capture and forward mode see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

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
  std::vector<std::vector<int64_t>> from;
  std::vector<std::vector<float>> weight;
};

// Where the outputs of an interpolation lie and what they weigh, in PyTorch's arithmetic; factor 0:
// the sizes say it.
Taps taps(int64_t in, int64_t out, double factor, bool corners, bool cubic) {
  constexpr double kA = -0.75;
  const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  const int64_t count = cubic ? 4 : 2, steps = std::max<int64_t>(out - 1, 1);
  Taps t{std::vector<std::vector<int64_t>>(static_cast<size_t>(count)),
         std::vector<std::vector<float>>(static_cast<size_t>(count))};
  const double scale =
      factor != 0 ? 1.0 / factor : static_cast<double>(in) / static_cast<double>(out);
  const double step = static_cast<double>(in - 1) / static_cast<double>(steps);
  for (int64_t o = 0; o < out; ++o) {
    const auto x = static_cast<double>(o);
    double place = corners ? step * x : scale * (x + 0.5) - 0.5;
    if (!cubic && !corners) place = std::fmax(place, 0);
    int64_t first = static_cast<int64_t>(std::floor(place)) - (cubic ? 1 : 0);
    if (!cubic) first = std::min(first, in - 1);
    const double part = place - static_cast<double>(first + (cubic ? 1 : 0));
    const std::vector<double> weights =
        cubic ? std::vector<double>{far(part + 1), near(part), near(1 - part), far(2 - part)}
              : std::vector<double>{1 - part, part};
    for (size_t k = 0; k < weights.size(); ++k) {
      const int64_t at = first + static_cast<int64_t>(k);
      t.from[k].push_back(std::min(std::max<int64_t>(at, 0), in - 1));
      t.weight[k].push_back(static_cast<float>(weights[k]));
    }
  }
  return t;
}

Tensor resized(const Tensor& x, int dim, const Taps& t) {
  Tensor y;
  for (size_t k = 0; k < t.from.size(); ++k) {
    Shape line;
    for (int d = 0; d < x.rank(); ++d) line.push_back(d == dim ? -1 : 1);
    const Tensor part = index_select(x, dim, tensor(t.from[k])) * tensor(t.weight[k]).reshape(line);
    y = k == 0 ? part : y + part;
  }
  return y;
}

struct Resizing {
  Shape x;
  double factor;  // 0: to these sizes
  int64_t h, w;
};
const Resizing kResizings[] = {{{2, 3, 5, 7}, 2, 10, 14},   {{1, 2, 40, 56}, 2, 80, 112},
                               {{1, 2, 9, 33}, 0.5, 4, 16}, {{2, 2, 4, 6}, 1.5, 6, 9},
                               {{1, 1, 1, 1}, 0, 3, 4},     {{2, 3, 6, 5}, 0, 1, 1},
                               {{1, 3, 8, 21}, 0, 5, 50},   {{3, 1, 4, 4}, 0, 4, 4}};

InterpolateOptions options(const Resizing& r, bool corners, bool cubic) {
  InterpolateOptions o;
  o.mode = cubic ? "bicubic" : "bilinear";
  o.align_corners = corners;
  if (r.factor != 0) o.scale_factor = {r.factor};
  if (r.factor == 0) o.size = {r.h, r.w};
  return o;
}
Tensor interpolate_in_ops(const Tensor& x, const Resizing& r, bool corners, bool cubic) {
  const Tensor y = resized(x, 2, taps(r.x[2], r.h, r.factor, corners, cubic));
  return resized(y, 3, taps(r.x[3], r.w, r.factor, corners, cubic));
}

TEST(OneNode, InterpolateHasTheBitsOfItsOps) {
  manual_seed(5);
  for (const Resizing& r : kResizings) {
    for (int form = 0; form < 4; ++form) {
      const bool corners = (form & 1) != 0, cubic = (form & 2) != 0;
      SCOPED_TRACE(std::string(to_text(r.x).text) + " to " + std::to_string(r.w) + ", form " +
                   std::to_string(form));
      const InterpolateOptions o = options(r, corners, cubic);
      expect_same([&](const List& in) { return interpolate(in[0], o); },
                  [&](const List& in) { return interpolate_in_ops(in[0], r, corners, cubic); },
                  {randn(r.x)});
    }
  }
  InterpolateOptions line;
  line.mode = "linear";
  line.scale_factor = {2};
  expect_same([&](const List& in) { return interpolate(in[0], line); },
              [&](const List& in) { return resized(in[0], 2, taps(19, 38, 2, false, false)); },
              {randn({2, 3, 19})});
}

// The sum of the gradients of all that read a tensor is made in the order of the ops.
TEST(OneNode, InterpolateBesideOtherReadersHasTheBitsOfItsOps) {
  manual_seed(9);
  const Resizing& r = kResizings[0];
  for (int form = 0; form < 4; ++form) {
    const bool corners = (form & 1) != 0, cubic = (form & 2) != 0;
    const InterpolateOptions o = options(r, corners, cubic);
    const auto with = [&](const std::function<Tensor(const Tensor&)>& f) {
      return [&, f](const List& in) {
        const Tensor x = in[0] * in[1], before = exp(x), y = f(x), after = sin(x);
        return y * y + interpolate_in_ops(before * after, r, corners, cubic);
      };
    };
    expect_same(with([&](const Tensor& x) { return interpolate(x, o); }),
                with([&](const Tensor& x) { return interpolate_in_ops(x, r, corners, cubic); }),
                {randn(r.x), randn(r.x)});
  }
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
