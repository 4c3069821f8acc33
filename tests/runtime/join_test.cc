// Values that stand within one another: Concat and Split that copy nothing. The answers are those
// of plain loops, whatever else reads the values and whichever steps run in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/runtime/programs.h"

namespace wick {
namespace {

using test::load;
using test::open;
using test::ProgramBuilder;
using Numbers = std::vector<float>;

// Builds a program on values of shape [1, n], and computes it beside.
class Net {
 public:
  Net() { add({}, 48), begin_ = expected_[0]; }

  uint32_t add(Numbers numbers, int64_t n) {
    if (numbers.empty()) {
      for (int64_t i = 0; i < n; ++i) numbers.push_back(static_cast<float>(i % 7) - 3);
    }
    expected_.push_back(numbers);
    return program_.value(("v" + std::to_string(expected_.size())).c_str(), DType::kF32, {1, n});
  }
  uint32_t relu(uint32_t x) {
    Numbers y = expected_[x];
    for (float& v : y) v = std::max(v, 0.0f);
    return one(OpId::kRelu, {x}, y);
  }
  uint32_t neg(uint32_t x) {
    Numbers y = expected_[x];
    for (float& v : y) v = -v;
    return one(OpId::kNeg, {x}, y);
  }
  uint32_t sum(uint32_t a, uint32_t b) {
    Numbers y = expected_[a];
    for (size_t i = 0; i < y.size(); ++i) y[i] += expected_[b][i];
    return one(OpId::kAdd, {a, b}, y);
  }
  uint32_t concat(const std::vector<uint32_t>& parts) {
    Numbers y;
    for (uint32_t p : parts) y.insert(y.end(), expected_[p].begin(), expected_[p].end());
    const uint32_t v = add(y, static_cast<int64_t>(y.size()));
    program_.node(OpId::kConcat, parts, {v}, AxisAttrs{1});
    return v;
  }
  std::vector<uint32_t> split(uint32_t x, const std::vector<int64_t>& sizes) {
    std::vector<uint32_t> parts;
    SplitAttrs attrs;
    attrs.axis = 1, attrs.sizes = IntList<64>(Span<const int64_t>(sizes.data(), sizes.size()));
    const Numbers all = expected_[x];
    int64_t at = 0;
    for (int64_t n : sizes) {
      parts.push_back(add(Numbers(all.begin() + at, all.begin() + at + n), n));
      at += n;
    }
    program_.node(OpId::kSplit, {x}, parts, attrs);
    return parts;
  }
  int64_t size(uint32_t v) const { return static_cast<int64_t>(expected_[v].size()); }

  // Runs it twice; returns the bytes of the session's values.
  size_t check(const std::vector<uint32_t>& outputs) {
    program_.entry("main", {0}, outputs);
    auto l = load(program_.finish());
    auto session = open(*l.program);
    for (int round = 0; round < 2; ++round) {
      Numbers x = begin_;
      TensorView in(x.data(), DType::kF32, {1, size(0)});
      std::vector<TensorView> out(outputs.size());
      const Status s = session->run({&in, 1}, {out.data(), out.size()});
      EXPECT_TRUE(s.ok()) << s.message();
      for (size_t i = 0; s.ok() && i < outputs.size(); ++i) {
        const float* y = out[i].as<float>();
        EXPECT_EQ(Numbers(y, y + size(outputs[i])), expected_[outputs[i]]) << "output " << i;
      }
    }
    return session->arena_bytes();
  }

 private:
  uint32_t one(OpId op, const std::vector<uint32_t>& in, const Numbers& y) {
    const uint32_t v = add(y, static_cast<int64_t>(y.size()));
    program_.node(op, in, {v});
    return v;
  }
  ProgramBuilder program_;
  std::vector<Numbers> expected_;  // by value
  Numbers begin_;
};

TEST(Join, PartsOfAConcatNeedNoMemoryOfTheirOwn) {
  Net n;
  const uint32_t a = n.relu(0), b = n.neg(0);
  EXPECT_EQ(n.check({n.concat({a, b})}), 2 * 48 * sizeof(float));
}

TEST(Join, PartsOfASplitNeedNoMemoryOfTheirOwn) {
  Net n;
  const auto parts = n.split(n.relu(0), {16, 32});
  EXPECT_EQ(n.check({parts[0], parts[1]}), 48 * sizeof(float));
}

TEST(Join, APartThatIsReadLaterStaysWhenTheWholeChangesInPlace) {
  Net n;
  const uint32_t a = n.relu(0), b = n.neg(0), whole = n.concat({a, b});
  const uint32_t changed = n.neg(whole);  // the last reader of `whole`
  n.check({n.concat({changed, a}), n.neg(b)});
}

TEST(Join, AWholeThatIsReadLaterStaysWhenAPartChangesInPlace) {
  Net n;
  const uint32_t whole = n.neg(0);
  const auto parts = n.split(whole, {16, 32});
  const uint32_t changed = n.neg(parts[1]);
  n.check({n.concat({changed, parts[0]}), n.relu(whole)});
}

TEST(Join, APartThatChangesInPlaceAfterItsConcat) {
  Net n;
  const uint32_t a = n.relu(0), b = n.neg(0), whole = n.concat({a, b});
  n.check({n.neg(a), whole});
}

TEST(Join, OneValueInSeveralPlaces) {
  Net n;
  const uint32_t a = n.relu(0);
  const uint32_t whole = n.concat({a, a, n.neg(a)});
  n.check({whole, n.concat({whole, a}), n.concat({0, whole, 0})});
}

// Steps of all kinds on values of many lives: any wrong place shows as a wrong number.
TEST(Join, RandomNetsHaveTheNumbersOfPlainLoops) {
  std::mt19937 generator(58);
  const auto below = [&](size_t n) { return static_cast<size_t>(generator() % n); };
  for (int net = 0; net < 400; ++net) {
    SCOPED_TRACE(net);
    Net n;
    std::vector<uint32_t> values = {0};
    const auto any = [&] {  // new values more often
      const size_t back = std::min(below(values.size()), below(values.size()));
      return values[values.size() - 1 - back];
    };
    for (int step = 0, steps = 4 + static_cast<int>(below(28)); step < steps; ++step) {
      const uint32_t x = any();
      const int64_t size = n.size(x), unit = below(4) == 0 ? 1 : 16;
      switch (below(5)) {
        case 0: values.push_back(n.relu(x)); break;
        case 1: values.push_back(n.neg(x)); break;
        case 2: {
          uint32_t other = x;
          for (uint32_t v : values) {
            if (n.size(v) == size && below(2) == 0) other = v;
          }
          values.push_back(n.sum(x, other));
          break;
        }
        case 3: {
          std::vector<uint32_t> parts = {x};
          while (parts.size() < 4 && below(3) != 0) parts.push_back(any());
          int64_t all = 0;
          for (uint32_t v : parts) all += n.size(v);
          if (all < 2000) values.push_back(n.concat(parts));
          break;
        }
        default:
          if (size > unit) {
            const auto places = static_cast<size_t>((size - 1) / unit);
            const int64_t first = unit * (1 + static_cast<int64_t>(below(places)));
            for (uint32_t v : n.split(x, {first, size - first})) values.push_back(v);
          }
      }
    }
    std::vector<uint32_t> outputs = {values.back()};
    for (uint32_t v : values) {
      if (v != 0 && v != outputs[0] && below(5) == 0) outputs.push_back(v);
    }
    n.check(outputs);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace wick
