#include "quantize/recipe.h"

#include <cmath>

#include "wick/error.h"

namespace wick::quantize {
namespace {

constexpr const char* kModes[] = {"static", "dynamic", "weight-only", "qat", "f16", "bf16"};
constexpr const char* kObservers[] = {"min-max", "moving-average", "percentile", "entropy", "mse"};

constexpr const char* kWidths[] = {"int4", "int8", "f16", "f32"};

template <size_t n>
size_t find(const char* const (&names)[n], const std::string& name, const char* what) {
  std::string known;
  for (size_t i = 0; i < n; ++i) {
    if (name == names[i]) return i;
    known += std::string(i == 0 ? "" : ", ") + names[i];
  }
  throw_error("quantize", std::string("no ") + what + " \"" + name + "\"; there are " + known);
}

void check(const ObserverSpec& s, const char* whose) {
  const std::string of = std::string(whose) + " observer: ";
  if (!(s.averaging > 0 && s.averaging <= 1))
    throw_error("quantize",
                of + "averaging must be over 0 and at most 1, got " + std::to_string(s.averaging));
  if (!(s.percentile >= 50 && s.percentile <= 100))
    throw_error("quantize",
                of + "percentile must be from 50 to 100, got " + std::to_string(s.percentile));
}

}  // namespace

const char* mode_name(Mode m) { return kModes[static_cast<size_t>(m)]; }
Mode mode_from(const std::string& name) { return static_cast<Mode>(find(kModes, name, "recipe")); }
const char* observer_name(ObserverKind k) { return kObservers[static_cast<size_t>(k)]; }
ObserverKind observer_from(const std::string& name) {
  return static_cast<ObserverKind>(find(kObservers, name, "observer"));
}

const char* width_name(Width w) { return kWidths[static_cast<size_t>(w)]; }

DType weight_dtype(const Recipe& r, const std::string& node) {
  const auto found = r.widths.find(node);
  if (found == r.widths.end()) return r.weight;
  return found->second == Width::kInt4   ? DType::kI4
         : found->second == Width::kInt8 ? DType::kI8
                                         : r.weight;
}

void check(const Recipe& r) {
  if (r.activation != DType::kU8 && r.activation != DType::kI8)
    throw_error("quantize",
                std::string("activations are uint8 or int8, not ") + dtype_name(r.activation));
  if (r.weight != DType::kI8 && r.weight != DType::kI4 && r.weight != DType::kU4)
    throw_error("quantize",
                std::string("weights are int8, int4 or uint4, not ") + dtype_name(r.weight));
  if (r.weight_symmetric && r.weight == DType::kU4)
    throw_error("quantize", "uint4 weights have zero points: weight_symmetric must be false");
  if (r.block_size != 32 && r.block_size != 64 && r.block_size != 128) {
    throw_error("quantize",
                "block_size must be 32, 64 or 128, got " + std::to_string(r.block_size));
  }
  if (r.correction_batches < 1)
    throw_error("quantize", "correction_batches must be at least 1, got " +
                                std::to_string(r.correction_batches));
  if (r.gptq && (r.mode == Mode::kQat || r.mode == Mode::kF16 || r.mode == Mode::kBF16))
    throw_error("quantize",
                std::string("gptq rounds weights to integers after training: not for ") +
                    mode_name(r.mode));
  if (!r.widths.empty() && (r.mode == Mode::kQat || r.mode == Mode::kF16 || r.mode == Mode::kBF16))
    throw_error("quantize", std::string("widths of layers are for static, dynamic and weight-only "
                                        "recipes, not ") +
                                mode_name(r.mode));
  for (const auto& [node, width] : r.widths) {
    if (r.mode == Mode::kDynamic && width == Width::kInt4)
      throw_error("quantize", "node \"" + node + "\": dynamic layers have int8 weights, not int4");
  }
  check(r.activation_observer, "activation");
  check(r.weight_observer, "weight");
  if (r.weight_observer.kind == ObserverKind::kMovingAverage)
    throw_error("quantize", "weight observer: weights come in one batch, nothing to average");
}

bool fits_pattern(const std::string& text, const std::string& pattern) {
  size_t t = 0, p = 0, star = std::string::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string::npos) {
      p = star + 1, t = ++from;  // the last * matches one more character
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace wick::quantize
