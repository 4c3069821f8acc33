// Recurrent cells, Fourier transforms and n-gram counts against their definitions, written here in
// another form than in the kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>
#include <numbers>

#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

using Doubles = std::vector<double>;

std::vector<Value> run(OpId op, const Sample& s, const std::vector<Value>& in) {
  std::vector<Value> out;
  Status status = run_op(op, s.attrs.get(), in, s.outputs, reference_sets(), nullptr, &out);
  EXPECT_TRUE(status.ok()) << s.name << ": " << status.message();
  return out;
}

std::string error_of(OpId op, const Sample& s) {
  std::vector<Value> out;
  Status status =
      run_op(op, s.attrs.get(), make_inputs(s), s.outputs, reference_sets(), nullptr, &out);
  return status.ok() ? "" : status.message();
}

const TestRow& row_of(OpId op) {
  for (const TestRow* row : all_test_rows()) {
    if (row->op == op) return *row;
  }
  std::abort();
}

double apply(int64_t kind, double alpha, double beta, double x) {
  switch (static_cast<RnnFunction>(kind)) {
    case RnnFunction::kDefault:
    case RnnFunction::kTanh: return std::tanh(x);
    case RnnFunction::kSigmoid: return 1 / (1 + std::exp(-x));
    case RnnFunction::kRelu: return std::max(x, 0.0);
    case RnnFunction::kAffine: return alpha * x + beta;
    case RnnFunction::kLeakyRelu: return x >= 0 ? x : alpha * x;
    case RnnFunction::kThresholdedRelu: return x >= alpha ? x : 0;
    case RnnFunction::kScaledTanh: return alpha * std::tanh(beta * x);
    case RnnFunction::kHardSigmoid: return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case RnnFunction::kElu: return x >= 0 ? x : alpha * (std::exp(x) - 1);
    case RnnFunction::kSoftsign: return x / (1 + std::fabs(x));
    case RnnFunction::kSoftplus: return std::log(1 + std::exp(x));
  }
  return 0;
}

// ONNX's equations for one sequence, one step at a time, with vectors and whole matrices.
struct Reference {
  OpId op;
  const RnnAttrs& a;
  const std::vector<Value>& in;
  int64_t gates, seq, batch, input, hidden, dirs;

  Reference(OpId which, const RnnAttrs& attrs, const std::vector<Value>& inputs)
      : op(which), a(attrs), in(inputs) {
    Shape x = in[0].view().shape, r = in[2].view().shape;
    seq = x[a.layout], batch = x[1 - a.layout], input = x[2], hidden = r[2], dirs = r[0];
    gates = r[1] / hidden;
  }
  bool has(size_t i) const { return i < in.size() && in[i].view().present(); }
  double state(size_t i, int64_t d, int64_t b, int64_t j) const {
    if (!has(i)) return 0;
    return in[i].at(((a.layout == 0 ? d * batch + b : b * dirs + d)) * hidden + j);
  }
  // row `g` of the gates: x W^T + Wb, h R^T + Rb
  double of_x(int64_t d, int64_t g, int64_t t, int64_t b) const {
    double sum = has(3) ? in[3].at(d * 2 * gates * hidden + g) : 0;
    for (int64_t k = 0; k < input; ++k) {
      int64_t at = a.layout == 0 ? t * batch + b : b * seq + t;
      sum += in[0].at(at * input + k) * in[1].at((d * gates * hidden + g) * input + k);
    }
    return sum;
  }
  double of_h(int64_t d, int64_t g, const Doubles& h) const {
    double sum = has(3) ? in[3].at((d * 2 + 1) * gates * hidden + g) : 0;
    for (int64_t k = 0; k < hidden; ++k)
      sum += h[static_cast<size_t>(k)] * in[2].at((d * gates * hidden + g) * hidden + k);
    return sum;
  }
  double peephole(int64_t d, int64_t i) const { return has(7) ? in[7].at(d * 3 * hidden + i) : 0; }
  double f(int64_t d, double x) const {
    const RnnFunctionAttrs& w = d == 1 ? a.back_f : a.f;
    int64_t kind = w.kind != 0        ? w.kind
                   : op == OpId::kRNN ? static_cast<int64_t>(RnnFunction::kTanh)
                                      : static_cast<int64_t>(RnnFunction::kSigmoid);
    return apply(kind, w.alpha, w.beta, clip(x));
  }
  double g(int64_t d, double x) const {
    const RnnFunctionAttrs& w = d == 1 ? a.back_g : a.g;
    return apply(w.kind, w.alpha, w.beta, clip(x));
  }
  double clip(double x) const { return a.clip > 0 ? std::max(-a.clip, std::min(x, a.clip)) : x; }

  void step(int64_t d, int64_t t, int64_t b, Doubles* h, Doubles* c) const {
    Doubles before = *h, reset(before.size());
    for (int64_t j = 0; j < hidden; ++j) {
      auto at = static_cast<size_t>(j);
      double& y = (*h)[at];
      auto gate = [&](int64_t k) {
        return of_x(d, k * hidden + j, t, b) + of_h(d, k * hidden + j, before);
      };
      if (op == OpId::kRNN) {
        y = f(d, gate(0));
      } else if (op == OpId::kGRU) {
        for (int64_t k = 0; k < hidden; ++k) {
          int64_t row = hidden + k;
          reset[static_cast<size_t>(k)] = f(d, of_x(d, row, t, b) + of_h(d, row, before));
        }
        double z = f(d, gate(0)), sum;
        int64_t row = 2 * hidden + j;
        if (a.linear_before_reset != 0) {
          sum = of_x(d, row, t, b) + reset[at] * of_h(d, row, before);
        } else {
          Doubles less = before;
          for (size_t k = 0; k < less.size(); ++k) less[k] *= reset[k];
          sum = of_x(d, row, t, b) + of_h(d, row, less);
        }
        y = (1 - z) * g(d, sum) + z * before[at];
      } else {
        double& memory = (*c)[at];
        double i = f(d, gate(0) + peephole(d, j) * memory);
        double forget = f(d, gate(2) + peephole(d, 2 * hidden + j) * memory);
        if (a.input_forget != 0) forget = 1 - i;
        memory = forget * memory + i * g(d, gate(3));
        double o = f(d, gate(1) + peephole(d, hidden + j) * memory);
        const RnnFunctionAttrs& w = d == 1 ? a.back_h : a.h;
        y = o * apply(w.kind, w.alpha, w.beta, memory);
      }
    }
  }
};

void near(double got, double want, const std::string& where) {
  EXPECT_NEAR(got, want, 2e-6 * std::max(1.0, std::fabs(want))) << where;
}

TEST(SequenceValues, RecurrentCellsAreOnnxEquations) {
  for (OpId op : {OpId::kRNN, OpId::kGRU, OpId::kLSTM}) {
    for (const Sample& s : row_of(op).samples()) {
      SCOPED_TRACE(s.name);
      std::vector<Value> in = make_inputs(s), out = run(op, s, in);
      ASSERT_EQ(out.size(), static_cast<size_t>(s.outputs));
      const auto& a = s.attrs.as<RnnAttrs>();
      Reference r(op, a, in);
      for (int64_t d = 0; d < r.dirs; ++d) {
        for (int64_t b = 0; b < r.batch; ++b) {
          Doubles h, c;
          for (int64_t j = 0; j < r.hidden; ++j)
            h.push_back(r.state(5, d, b, j)), c.push_back(r.state(6, d, b, j));
          auto length = r.has(4) ? static_cast<int64_t>(in[4].at(b)) : r.seq;
          if (length == 0 && r.seq > 0) h.assign(h.size(), 0), c.assign(c.size(), 0);
          for (int64_t i = 0; i < r.seq; ++i) {
            bool live = i < length;
            int64_t t = live && (a.direction == 1 || d == 1) ? length - 1 - i : i;
            if (live) r.step(d, t, b, &h, &c);
            int64_t at =
                a.layout == 0 ? (t * r.dirs + d) * r.batch + b : (b * r.seq + t) * r.dirs + d;
            for (int64_t j = 0; j < r.hidden; ++j) {
              near(out[0].at(at * r.hidden + j), live ? h[static_cast<size_t>(j)] : 0,
                   "Y at step " + std::to_string(t));
            }
          }
          for (int64_t j = 0; j < r.hidden; ++j) {
            int64_t at = (a.layout == 0 ? d * r.batch + b : b * r.dirs + d) * r.hidden + j;
            near(out[1].at(at), h[static_cast<size_t>(j)], "Y_h");
            if (out.size() > 2) near(out[2].at(at), c[static_cast<size_t>(j)], "Y_c");
          }
        }
      }
    }
  }
}

TEST(SequenceValues, RecurrentCellsRefuseWhatDoesNotFit) {
  Sample s = row_of(OpId::kLSTM).samples()[3];
  auto broken = [&](size_t input, Shape shape) {
    Sample bad = s;
    bad.in[input].shape = shape;
    if (!bad.in[input].values.empty()) bad.in[input].values.resize(1);
    return error_of(OpId::kLSTM, bad);
  };
  EXPECT_EQ(error_of(OpId::kLSTM, s), "");
  EXPECT_NE(broken(0, {5, 3}).find("X must have rank 3"), std::string::npos);
  EXPECT_NE(broken(1, {2, 28, 5}).find("W, and the shape"), std::string::npos);
  EXPECT_NE(broken(2, {2, 28, 6}).find("W, and the shape"), std::string::npos);
  EXPECT_NE(broken(3, {2, 28}).find("B, and the shape"), std::string::npos);
  EXPECT_NE(broken(4, {1}).find("sequence_lens, and"), std::string::npos);
  EXPECT_NE(broken(5, {2, 3, 8}).find("initial_h, and"), std::string::npos);
  for (double length : {-1.0, 6.0}) {
    Sample bad = s;
    bad.in[4].values[1] = length;
    EXPECT_NE(error_of(OpId::kLSTM, bad).find("must be 0 to 5"), std::string::npos);
  }
  const std::pair<const char*, void (*)(RnnAttrs&)> changes[] = {
      {"unknown direction 3", [](RnnAttrs& a) { a.direction = 3; }},
      {"unknown layout -1", [](RnnAttrs& a) { a.layout = -1; }},
      {"unknown back_h.kind 12", [](RnnAttrs& a) { a.back_h.kind = 12; }},
      {"unknown f.kind -9223372036854775808", [](RnnAttrs& a) { a.f.kind = INT64_MIN; }}};
  for (const auto& [text, change] : changes) {
    Sample bad = s;
    change(bad.attrs.as<RnnAttrs>());
    EXPECT_NE(error_of(OpId::kLSTM, bad).find(text), std::string::npos) << text;
  }
  Sample bad = s;
  bad.attrs.as<RnnAttrs>().hidden_size = INT64_MAX;
  EXPECT_NE(error_of(OpId::kLSTM, bad).find("hidden_size is"), std::string::npos);
}

// The sum of the definition, in long double.
TEST(SequenceValues, TransformsAreTheirSums) {
  using Complex = std::complex<long double>;
  for (const Sample& s : row_of(OpId::kDFT).samples()) {
    SCOPED_TRACE(s.name);
    std::vector<Value> in = make_inputs(s, DType::kF64), out = run(OpId::kDFT, s, in);
    ASSERT_EQ(out.size(), 1u);
    auto a = s.attrs.as<DftAttrs>();
    Shape x = in[0].view().shape, y = out[0].view().shape;
    if (in.size() > 2) a.axis = static_cast<int64_t>(in[2].at(0));
    int axis = static_cast<int>(a.axis < 0 ? a.axis + x.rank() : a.axis);
    int64_t parts = x[x.rank() - 1], out_parts = y[y.rank() - 1], size = x[axis], inner = 1;
    for (int i = axis + 1; i + 1 < x.rank(); ++i) inner *= x[i];
    int64_t n = a.onesided != 0 && a.inverse != 0 ? 2 * (size - 1) : size;
    if (a.dft_length != 0) n = a.dft_length;
    if (in.size() > 1 && in[1].view().present()) n = static_cast<int64_t>(in[1].at(0));
    ASSERT_EQ(y[axis], a.onesided != 0 && a.inverse == 0 ? n / 2 + 1 : n);
    for (int64_t line = 0; line < numel(y) / out_parts / std::max<int64_t>(y[axis], 1); ++line) {
      auto at = [&](int64_t t, int64_t extent) {
        return (line / inner * extent + t) * inner + line % inner;
      };
      auto given = [&](int64_t t) {
        if (t >= size) return Complex(0);
        int64_t e = at(t, size) * parts;
        return Complex(in[0].at(e), parts == 2 ? in[0].at(e + 1) : 0);
      };
      std::vector<Complex> v;
      for (int64_t t = 0; t < n; ++t) {
        bool mirrored = a.onesided != 0 && a.inverse != 0 && 2 * t > n;
        v.push_back(mirrored ? std::conj(given(n - t)) : given(t));
        bool single = t == 0 || 2 * t == n;
        if (a.onesided != 0 && a.inverse != 0 && single) v.back() = v.back().real();
      }
      for (int64_t k = 0; k < y[axis]; ++k) {
        Complex sum = 0;
        for (int64_t t = 0; t < n; ++t) {
          long double turn = 2 * std::numbers::pi_v<long double> *
                             static_cast<long double>(k * t % n) / static_cast<long double>(n);
          sum += v[static_cast<size_t>(t)] * std::polar(1.0L, a.inverse != 0 ? turn : -turn);
        }
        if (a.inverse != 0) sum /= static_cast<long double>(n);
        int64_t e = at(k, y[axis]) * out_parts;
        EXPECT_NEAR(out[0].at(e), static_cast<double>(sum.real()), 1e-13 * static_cast<double>(n))
            << k;
        if (out_parts == 2) {
          EXPECT_NEAR(out[0].at(e + 1), static_cast<double>(sum.imag()),
                      1e-13 * static_cast<double>(n))
              << k;
        }
      }
    }
  }
}

TEST(SequenceValues, TransformsRefuseWhatHasNoMeaning) {
  auto error = [](Shape x, DftAttrs a) { return error_of(OpId::kDFT, sample("bad", {f32(x)}, a)); };
  EXPECT_NE(error({3, 4, 2}, DftAttrs{2, 0, 0, 0}).find("last axis"), std::string::npos);
  EXPECT_NE(error({3, 4, 2}, DftAttrs{3, 0, 0, 0}).find("out of range"), std::string::npos);
  EXPECT_NE(error({3, 4, 3}, DftAttrs{}).find("must be 1 (real) or 2"), std::string::npos);
  EXPECT_NE(error({3, 4, 2}, DftAttrs{1, 0, 0, 1}).find("real signal"), std::string::npos);
  EXPECT_NE(error({3, 4, 1}, DftAttrs{1, 0, 1, 1}).find("complex spectrum"), std::string::npos);
  EXPECT_NE(error({3, 0, 2}, DftAttrs{}).find("length of the transform"), std::string::npos);
  EXPECT_NE(error({3, 1, 2}, DftAttrs{-2, 0, 1, 1}).find("length of the transform"),
            std::string::npos);
  for (int64_t n : {int64_t{-1}, INT64_MAX, INT64_MIN})
    EXPECT_NE(error({3, 4, 2}, DftAttrs{1, n, 0, 0}).find("length of"), std::string::npos);
}

TEST(SequenceValues, NGramsAreCountedOneByOne) {
  for (const Sample& s : row_of(OpId::kTfIdfVectorizer).samples()) {
    SCOPED_TRACE(s.name);
    std::vector<Value> in = make_inputs(s), out = run(OpId::kTfIdfVectorizer, s, in);
    ASSERT_EQ(out.size(), 1u);
    const auto& a = s.attrs.as<TfIdfAttrs>();
    auto all = [&](size_t i) {
      std::vector<int64_t> v;
      for (int64_t k = 0; k < in[i].view().numel(); ++k)
        v.push_back(static_cast<int64_t>(in[i].at(k)));
      return v;
    };
    std::vector<int64_t> pool = all(1), starts = all(2), places = all(3), tokens = all(0);
    std::map<std::vector<int64_t>, int64_t> place;
    size_t gram = 0;
    for (size_t n = 1; n <= starts.size(); ++n) {
      auto at = static_cast<size_t>(starts[n - 1]);
      size_t end = n < starts.size() ? static_cast<size_t>(starts[n]) : pool.size();
      for (; at < end; at += n, ++gram) {
        place[{pool.begin() + static_cast<long>(at), pool.begin() + static_cast<long>(at + n)}] =
            places[gram];
      }
    }
    Shape x = in[0].view().shape;
    int64_t rows = x.rank() == 2 ? x[0] : 1, length = x.rank() == 0 ? 1 : x[x.rank() - 1];
    for (int64_t row = 0; row < rows; ++row) {
      Doubles count(static_cast<size_t>(a.output_size));
      for (int64_t n = a.min_gram_length; n <= a.max_gram_length; ++n) {
        for (int64_t step = 1; step <= std::min<int64_t>(a.max_skip_count, 1000) + 1; ++step) {
          if (n == 1 && step > 1) break;
          for (int64_t i = 0; i + step * (n - 1) < length; ++i) {
            std::vector<int64_t> key;
            for (int64_t k = 0; k < n; ++k)
              key.push_back(tokens[static_cast<size_t>(row * length + i + k * step)]);
            auto found = place.find(key);
            if (found != place.end()) ++count[static_cast<size_t>(found->second)];
          }
        }
      }
      for (int64_t i = 0; i < a.output_size; ++i) {
        double want = count[static_cast<size_t>(i)];
        if (a.mode == 1) want = std::min(want, 1.0);
        if (a.mode != 0 && in.size() > 4) want = static_cast<float>(want * in[4].at(i));
        EXPECT_EQ(out[0].at(row * a.output_size + i), want) << row << "," << i;
      }
    }
  }
}

TEST(SequenceValues, NGramTablesAreChecked) {
  Sample s = row_of(OpId::kTfIdfVectorizer).samples()[0];
  auto broken = [&](size_t input, std::vector<double> values) {
    Sample bad = s;
    bad.in[input] = ints(std::move(values));
    return error_of(OpId::kTfIdfVectorizer, bad);
  };
  EXPECT_EQ(error_of(OpId::kTfIdfVectorizer, s), "");
  EXPECT_NE(broken(2, {0, 4, 14}).find("ngram_counts[2]"), std::string::npos);
  EXPECT_NE(broken(2, {5, 4, 10}).find("ngram_counts[0]"), std::string::npos);
  EXPECT_NE(broken(2, {-1, 4, 10}).find("ngram_counts[0]"), std::string::npos);
  EXPECT_NE(broken(2, {0, 5, 10}).find("no whole number of 2-grams"), std::string::npos);
  EXPECT_NE(broken(3, {0, 1, 2}).find("n-grams"), std::string::npos);
  EXPECT_NE(broken(3, {0, 1, 2, 3, 4, 5, 6, 9}).find("ngram_indexes[7]"), std::string::npos);
  EXPECT_NE(broken(3, {0, 1, 2, 3, 4, 5, 6, -1}).find("ngram_indexes[7]"), std::string::npos);
  for (auto change :
       {+[](TfIdfAttrs& a) { a.mode = 3; }, +[](TfIdfAttrs& a) { a.min_gram_length = 0; },
        +[](TfIdfAttrs& a) { a.max_gram_length = 1; },
        +[](TfIdfAttrs& a) { a.max_skip_count = -1; },
        +[](TfIdfAttrs& a) { a.max_skip_count = INT64_MAX; },
        +[](TfIdfAttrs& a) { a.output_size = -1; }}) {
    Sample bad = s;
    change(bad.attrs.as<TfIdfAttrs>());
    EXPECT_NE(error_of(OpId::kTfIdfVectorizer, bad), "");
  }
}

}  // namespace
}  // namespace wick::test
