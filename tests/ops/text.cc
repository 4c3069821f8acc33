#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using S = std::vector<Sample>;

Input tokens(DType t, Shape s, std::vector<double> v) { return {t, s, 0, 0, std::move(v)}; }

// Singles 2 3 5 4, pairs (5, 6) (7, 8) (6, 7), and a triple.
std::vector<Input> pool(Input x) {
  return {std::move(x), ints({2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 1, 1, 3}), ints({0, 4, 10}),
          ints({0, 1, 2, 3, 4, 5, 6, 8})};
}

}  // namespace

WICK_TEST_ROW(
    TfIdfVectorizer,
    [] {
      Input line = tokens(DType::kI32, {12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
      Input rows = tokens(DType::kI64, {2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
      std::vector<Input> weighted = pool(rows);
      weighted.push_back(f32({9}));
      S all = {
          sample("TfIdf/pairs", pool(line), TfIdfAttrs{2, 2, 0, 0, 9}),
          sample("TfIdf/skips", pool(line), TfIdfAttrs{1, 3, 5, 0, 9}),
          sample("TfIdf/rows", pool(rows), TfIdfAttrs{1, 2, 5, 0, 9}),
          sample("TfIdf/endless", pool(rows), TfIdfAttrs{1, 3, INT32_MAX, 0, 9}),
          sample("TfIdf/idf", weighted, TfIdfAttrs{1, 2, 5, 1, 9}),
          sample("TfIdf/tfidf", weighted, TfIdfAttrs{1, 2, 5, 2, 9}),
          sample("TfIdf/plain_idf", pool(rows), TfIdfAttrs{1, 3, 5, 1, 9}),
          sample("TfIdf/long", pool(of(DType::kI32, {3, 500}, 0, 9)), TfIdfAttrs{1, 3, 2, 0, 9}),
          sample("TfIdf/one", pool(tokens(DType::kI64, {}, {5})), TfIdfAttrs{1, 2, 0, 0, 9}),
          sample("TfIdf/string",
                 {words({2, 3}, {"a", "b", "a", "é", "a", "b"}), words({4}, {"a", "é", "a", "b"}),
                  ints({0, 2}), ints({0, 1, 2})},
                 TfIdfAttrs{1, 2, 1, 0, 3}),
          sample("TfIdf/none", pool(tokens(DType::kI64, {2, 0}, {})), TfIdfAttrs{1, 2, 0, 0, 9}),
          sample("TfIdf/no_rows", pool(tokens(DType::kI64, {0, 3}, {})), TfIdfAttrs{1, 2, 0, 0, 9}),
      };
      return all;
    },
    nullptr, 0);

}  // namespace wick::test
