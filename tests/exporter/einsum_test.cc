// Einsum against its definition: every letter runs over its dimension.
#include <gmock/gmock.h>

#include <map>

#include "tests/exporter/node_model.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

using Terms = std::vector<std::string>;  // one character a dimension

double value_at(const HostTensor& t, const std::string& term, std::map<char, int64_t>& at) {
  int64_t offset = 0;
  for (int d = 0; d < t.shape().rank(); ++d)
    offset = offset * t.shape()[d] + (t.shape()[d] == 1 ? 0 : at[term[static_cast<size_t>(d)]]);
  return element_as_double(t, offset);
}

void expect_einsum(const std::string& equation, const Terms& terms, const std::string& out,
                   const std::vector<HostTensor>& in) {
  SCOPED_TRACE(equation);
  NodeModel model("Einsum", 12);
  std::map<char, int64_t> size, at;
  for (size_t i = 0; i < in.size(); ++i) {
    model.in(in[i]);
    for (size_t d = 0; d < terms[i].size(); ++d) {
      int64_t& n = size.emplace(terms[i][d], 1).first->second;
      if (in[i].shape()[static_cast<int>(d)] != 1) n = in[i].shape()[static_cast<int>(d)];
    }
  }
  Shape shape;
  std::string order = out;  // the output's letters first, then the summed ones
  for (char letter : out) shape.push_back(size[letter]);
  for (auto [letter, n] : size) {
    if (out.find(letter) == std::string::npos) order += letter;
  }
  std::vector<double> want(static_cast<size_t>(numel(shape)));
  int64_t all = 1;
  for (char letter : order) all *= size[letter];
  for (int64_t i = 0; i < all; ++i) {
    int64_t rest = i, place = 0;
    for (size_t k = order.size(); k-- > 0; rest /= size[order[k]])
      at[order[k]] = rest % size[order[k]];
    for (char letter : out) place = place * size[letter] + at[letter];
    double product = 1;
    for (size_t k = 0; k < in.size(); ++k) product *= value_at(in[k], terms[k], at);
    want[static_cast<size_t>(place)] += product;
  }
  HostTensor y = model.set("equation", equation).run()[0];
  EXPECT_EQ(y.dtype(), in[0].dtype());
  expect_near(y, shape, want);
}

TEST(Einsum, IsTheSumOverEveryLetter) {
  HostTensor a = floats({2, 3, 4}, 1), b = floats({2, 4, 5}, 2), m = floats({3, 4}, 3),
             s = floats({4, 4}, 4), v = floats({4}, 5), c = floats({2, 3, 3}, 6);
  expect_einsum("ij->ji", {"ij"}, "ji", {m});
  expect_einsum("ij->ij", {"ij"}, "ij", {m});
  expect_einsum("ij", {"ij"}, "ij", {m});
  expect_einsum("ba", {"ba"}, "ab", {m});
  expect_einsum("Ba", {"Ba"}, "Ba", {m});
  expect_einsum("ij->", {"ij"}, "", {m});
  expect_einsum("ij->i", {"ij"}, "i", {m});
  expect_einsum("ii->i", {"ii"}, "i", {s});
  expect_einsum("ii", {"ii"}, "", {s});
  expect_einsum("bii->bi", {"bii"}, "bi", {c});
  expect_einsum("...ii->...i", {"bii"}, "bi", {c});
  expect_einsum("iii->i", {"iii"}, "i", {floats({3, 3, 3}, 7)});
  expect_einsum("ijij->j", {"ijij"}, "j", {floats({2, 3, 2, 3}, 8)});
  expect_einsum(" b i k , b k j -> b i j ", {"bik", "bkj"}, "bij", {a, b});
  expect_einsum("bik,bkj", {"bik", "bkj"}, "ij", {a, b});
  expect_einsum("bik,bkj->jib", {"bik", "bkj"}, "jib", {a, b});
  expect_einsum("bik,bkj->ij", {"bik", "bkj"}, "ij", {a, b});
  expect_einsum("...k,...kj->...j", {"bk", "bkj"}, "bj", {floats({2, 4}, 9), b});
  expect_einsum("...ik,k", {"bik", "k"}, "bi", {a, v});
  expect_einsum("i...->...", {"ibc"}, "bc", {a});
  expect_einsum("i...->i", {"ibc"}, "i", {a});
  expect_einsum("ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {m, s, floats({4, 2}, 10)});
  expect_einsum("ij,jk,k->ik", {"ij", "jk", "k"}, "ik", {m, s, v});
  expect_einsum("i,j->ij", {"i", "j"}, "ij", {v, floats({3}, 11)});
  expect_einsum("i,i->i", {"i", "i"}, "i", {v, v});
  expect_einsum("i,i->", {"i", "i"}, "", {v, v});
  expect_einsum("abc,cd,be->aed", {"abc", "cd", "be"}, "aed", {a, s, floats({3, 5}, 12)});
  expect_einsum("abcd,abcd->ab", {"abcd", "abcd"}, "ab",
                {floats({2, 2, 3, 2}, 13), floats({2, 2, 3, 2}, 14)});
  expect_einsum("abcd,cdef->abef", {"abcd", "cdef"}, "abef",
                {floats({2, 2, 3, 2}, 15), floats({3, 2, 2, 3}, 16)});
  expect_einsum(",ij->ij", {"", "ij"}, "ij", {floats({}, 17), m});
  expect_einsum("->", {""}, "", {floats({}, 18)});
  expect_einsum("bij,bjk->bik", {"bij", "bjk"}, "bik",
                {floats({2, 3, 0}, 1), floats({2, 0, 4}, 1)});
  expect_einsum("bij,bjk->bik", {"bij", "bjk"}, "bik",
                {floats({0, 3, 2}, 1), floats({0, 2, 4}, 1)});
  expect_einsum("ii->i", {"ii"}, "i", {floats({0, 0}, 1)});
  expect_einsum("ij,jk->ik", {"ij", "jk"}, "ik",
                {floats({3, 4}, 1, DType::kF64), floats({4, 2}, 2, DType::kF64)});
  HostTensor whole_matrix = whole({2, 3}, {1, -2, 3, 4, 5, -6});
  expect_einsum("ij,kj->ik", {"ij", "kj"}, "ik", {whole_matrix, whole_matrix});
}

// The ones are seen only where sizes are known; batches broadcast in any case.
TEST(Einsum, OnesMeetAnySize) {
  auto run = [](const std::string& equation, HostTensor a, HostTensor b) {
    auto bytes = NodeModel("Einsum", 12).in(a).in(b).set("equation", equation).bytes(false, 1);
    HostTensor in[] = {a, b};
    return ir::run(import_onnx_bytes(bytes), in)[0];
  };
  HostTensor a = HostTensor::of<float>({2, 1}, {2, 3}),
             b = HostTensor::of<float>({3}, {1, 10, 100});
  expect_near(run("ij,j->i", a, b), {2}, {222, 333});
  expect_near(run("ij,j->ij", a, b), {2, 3}, {2, 20, 200, 3, 30, 300});
  expect_einsum("...ij,...jk->...ik", {"bij", "cbjk"}, "cbik",
                {floats({1, 2, 3}, 1), floats({2, 4, 3, 2}, 2)});
}

TEST(Einsum, WhatIsNoEquationIsRefused) {
  auto why = [](const std::string& equation, const std::vector<HostTensor>& in) {
    NodeModel model("Einsum", 12);
    for (const HostTensor& t : in) model.in(t);
    auto bytes = model.set("equation", equation).bytes(false, 1);
    return error_of([&] { import_onnx_bytes(bytes); });
  };
  HostTensor m = floats({3, 4}, 1);
  EXPECT_THAT(why("ij,jk->ik", {m}), testing::HasSubstr("2 terms for 1 inputs"));
  EXPECT_THAT(why("i->i", {m}), testing::HasSubstr("does not name the dimensions of [3,4]"));
  EXPECT_THAT(why("ijk->i", {m}), testing::HasSubstr("does not name the dimensions"));
  EXPECT_THAT(why("i1->i", {m}), testing::HasSubstr("has the character '1'"));
  EXPECT_THAT(why("i.j->i", {m}), testing::HasSubstr("has the character '.'"));
  EXPECT_THAT(why("......->i", {m}), testing::HasSubstr("two ellipses"));
  EXPECT_THAT(why("ij->ii", {m}), testing::HasSubstr("each of its letters once"));
  EXPECT_THAT(why("ij->k", {m}), testing::HasSubstr("only those of the inputs"));
  EXPECT_THAT(why("ij->i->j", {m}), testing::HasSubstr("has the character '-'"));
  EXPECT_THAT(why("ii->i", {m}), testing::HasSubstr("two sizes"));
  EXPECT_THAT(why("ij,ij->ij", {m, floats({4, 3}, 1)}), testing::HasSubstr("two sizes"));
}

}  // namespace
}  // namespace wick::test
