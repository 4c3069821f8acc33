// The answers of NumPy and PyTorch to the samples of rows whose oracle would else be Wick's own
// kernel in float64: goldens/answers.txt, written by make_goldens.py.
#pragma once

#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/ops/values.h"
#include "tests/support/digest.h"

namespace wick::test {

// An element of an output: its value in float64, and the magnitude by which its error is judged.
struct AnsweredElement {
  int64_t index = 0;
  double value = 0, scale = 0;
};
struct AnsweredOutput {
  std::string dtype, shape;
  bool exact = false, free = false;       // free: one of many answers, not compared
  uint64_t hash = 0;                      // of all elements, if exact
  std::vector<AnsweredElement> elements;  // some of them otherwise
};
struct Answer {
  std::string digest;  // sample_digest() when it was written
  std::vector<AnsweredOutput> outputs;
};

// Returns all of them by the sample's name. Throws std::runtime_error with the line of a file that
// cannot be read.
std::map<std::string, Answer> read_answers(const std::string& path);

// Returns whether a row's samples are answered there: those that no other oracle judges.
inline bool has_answers(const TestRow& row) { return row.oracle == nullptr && !row.oracle_apart; }

// FNV-1a with words of 64 bits in the place of bytes.
inline uint64_t digest_word(uint64_t word, uint64_t hash) { return (hash ^ word) * 1099511628211u; }

// Returns a digest of all elements as numbers: every NaN is one, and so are the two zeros.
inline uint64_t number_hash(const Value& v) {
  uint64_t hash = kDigestSeed;
  const TensorView t = v.view();
  for (int64_t i = 0, n = t.numel(); i < n; ++i) {
    if (t.dtype == DType::kString) {
      const std::string text = v.string_at(i);
      hash = digest_word(digest_bytes(text.data(), text.size()), hash);
    } else if (t.dtype == DType::kI64 || t.dtype == DType::kU64) {
      hash = digest_word(t.as<uint64_t>()[i], hash);
    } else {
      const double x = v.at(i) + 0.0;
      hash = digest_word(std::isnan(x) ? 0x7FF8000000000000u : std::bit_cast<uint64_t>(x), hash);
    }
  }
  return hash;
}

// Returns a digest of what the sample asks: its attributes, and the dtypes, shapes and values of
// its inputs.
inline std::string sample_digest(const TestRow& row, const Sample& s) {
  uint64_t hash = digest_word(static_cast<uint64_t>(row.op), kDigestSeed);
  for (const AttrField& f : find_op(row.op)->attrs->fields) {
    const char* at = static_cast<const char*>(s.attrs.get()) + f.offset;
    const auto* words = reinterpret_cast<const uint64_t*>(at);
    const uint64_t count = is_list(f.kind) ? words[0] + 1 : 1;
    for (uint64_t i = 0; i < count; ++i) hash = digest_word(words[i], hash);
  }
  for (const Value& v : make_inputs(s)) {
    const TensorView t = v.view();
    hash = digest_word(static_cast<uint64_t>(t.dtype), hash);
    if (!t.present()) continue;
    for (int d = 0; d < t.rank(); ++d) hash = digest_word(static_cast<uint64_t>(t.shape[d]), hash);
    hash = digest_word(number_hash(v), hash);
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016" PRIx64, hash);
  return text;
}

}  // namespace wick::test
