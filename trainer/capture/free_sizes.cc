#include "trainer/capture/free_sizes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "wick/error.h"

namespace wick {
namespace {

// Multiples of 2 and 3: a branch on whether a size is a multiple of a small number or of a vector's
// length then sees one that is.
constexpr int64_t kMultiple = 24, kLeastMultiple = 6;
// A trace keeps every result, so the elements of a large input are limited.
constexpr int64_t kMostElements = 1 << 20;
// Limits for sizes that no expression is found from; they run without a trace.
constexpr int64_t kManyElements = 1 << 14, kUnseenElements = 1 << 17, kLargeSize = 131;
// A larger upper bound than this is taken as not stated.
constexpr int64_t kStatedMax = 4096;
// Distance from the example to the odd size. It decides which sizes are run.
constexpr int64_t kStep = 3;

bool prime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

bool among(const std::vector<int64_t>& list, int64_t n) {
  return std::find(list.begin(), list.end(), n) != list.end();
}

// Returns the largest size within the bounds that is not in `taken`, or the example's if all are.
int64_t largest_other(const FreeSize& f, const std::vector<int64_t>& taken) {
  int64_t n = f.max;
  while (n > f.min && among(taken, n)) --n;
  return among(taken, n) ? f.example : n;
}

// The three further sizes of each dimension. `taken` has those of the dimensions before it, which
// should differ, so that sizes that are equal in the example are not confused.
struct Choice {
  int64_t small, odd, large;
};
Choice choose(const FreeSize& f, std::vector<int64_t>* taken) {
  Choice c{f.min, 0, 0};
  c.odd = std::max(f.example + kStep, f.min) | 1;
  while (!prime(c.odd) || among(*taken, c.odd)) c.odd += 2;
  if (c.odd > f.max) c.odd = largest_other(f, {f.example, f.min});
  auto affordable = [&](int64_t size) {
    return size <= kMostElements / std::max<int64_t>(f.each, 1);
  };
  auto multiple_of = [&](int64_t n) {
    return (std::max({f.example + 1, f.min, n}) + n - 1) / n * n;
  };
  int64_t step = kMultiple;
  while (step > kLeastMultiple && !affordable(multiple_of(step))) step /= 2;
  c.large = multiple_of(step);
  while (among(*taken, c.large)) c.large += step;
  const bool whole = f.max <= kStatedMax && affordable(f.max);
  if (whole || c.large > f.max) c.large = largest_other(f, {f.example, f.min, c.odd});
  taken->insert(taken->end(), {f.example, c.odd, c.large});
  return c;
}

// Expresses the dimensions in units of what they must be multiples of.
std::vector<FreeSize> in_multiples(std::vector<FreeSize> free) {
  for (FreeSize& f : free) {
    f.example /= f.multiple, f.min /= f.multiple, f.max /= f.multiple;
    f.each *= f.multiple;
  }
  return free;
}
std::vector<Sizes> of_multiples(std::vector<Sizes> all, const std::vector<FreeSize>& free) {
  for (Sizes& sizes : all) {
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i] *= free[i].multiple;
  }
  return all;
}

std::vector<Sizes> further_counts(const std::vector<FreeSize>& free);
std::vector<Sizes> unseen_counts(const std::vector<FreeSize>& free);
std::vector<Sizes> many_counts(const std::vector<FreeSize>& free);

}  // namespace

std::vector<Sizes> further_sizes(const std::vector<FreeSize>& free) {
  return of_multiples(further_counts(in_multiples(free)), free);
}
std::vector<Sizes> unseen_sizes(const std::vector<FreeSize>& free) {
  return of_multiples(unseen_counts(in_multiples(free)), free);
}
std::vector<Sizes> many_sizes(const std::vector<FreeSize>& free) {
  return of_multiples(many_counts(in_multiples(free)), free);
}

std::vector<FreeSize> free_sizes(const std::vector<CaptureInput>& inputs) {
  std::vector<FreeSize> all;
  for (const CaptureInput& in : inputs) {
    for (const DynamicDim& d : in.dynamic) {
      const int64_t size = in.example.raw_shape()[d.dim];
      const int64_t each = numel(in.example.raw_shape()) / std::max<int64_t>(size, 1);
      if (size < d.min || size > d.max) {
        throw Error(
            fmt::format("[capture] the example of input \"{}\" has {} along dimension {}, \"{}\", "
                        "which is {} to {}: give an example within the bounds",
                        in.name, size, d.dim, d.symbol, d.min, d.max));
      }
      if (d.multiple_of < 1 || size % d.multiple_of != 0) {
        throw Error(fmt::format(
            "[capture] the example of input \"{}\" has {} along dimension {}, \"{}\", which is a "
            "multiple of {}",
            in.name, size, d.dim, d.symbol, d.multiple_of));
      }
      auto same = std::find_if(all.begin(), all.end(),
                               [&](const FreeSize& f) { return f.symbol == d.symbol; });
      if (same == all.end()) {
        const int64_t m = d.multiple_of;
        all.push_back({d.symbol, size, (d.min + m - 1) / m * m, d.max / m * m, each, m, false});
      } else if (same->example != size) {
        throw Error(fmt::format(
            "[capture] \"{}\" stands for one size, and the examples have {} and {}: give dimension "
            "{} of input \"{}\" a symbol of its own",
            d.symbol, same->example, size, d.dim, in.name));
      }
    }
  }
  return all;
}

Sizes example_sizes(const std::vector<FreeSize>& free) {
  Sizes sizes;
  for (const FreeSize& f : free) sizes.push_back(f.example);
  return sizes;
}

namespace {

std::vector<Sizes> further_counts(const std::vector<FreeSize>& free) {
  const Sizes example = example_sizes(free);
  std::vector<Choice> choices;
  std::vector<int64_t> taken;
  for (const FreeSize& f : free) choices.push_back(choose(f, &taken));
  std::vector<Sizes> all;
  auto add = [&](const Sizes& sizes) {
    if (sizes != example && std::find(all.begin(), all.end(), sizes) == all.end())
      all.push_back(sizes);
  };
  // `which` selects one of the three sizes, given the index of the dimension
  auto add_by = [&](auto&& which) {
    Sizes sizes;
    for (size_t i = 0; i < choices.size(); ++i) {
      const Choice& c = choices[i];
      const size_t k = which(i) % 3;
      sizes.push_back(k == 0 ? c.small : k == 1 ? c.odd : c.large);
    }
    add(sizes);
  };
  for (size_t i = 0; i < free.size(); ++i) {
    Sizes alone = example;
    alone[i] = choices[i].small;
    add(alone);
  }
  add_by([](size_t) -> size_t { return 0; });
  add_by([](size_t) -> size_t { return 1; });
  for (size_t turn = 0; turn < 3; ++turn) add_by([&](size_t i) { return i + turn; });
  if (all.empty()) all.push_back(example);
  return all;
}

std::vector<Sizes> unseen_counts(const std::vector<FreeSize>& free) {
  if (free.empty()) return {};
  std::vector<Sizes> seen = further_counts(free);
  seen.push_back(example_sizes(free));
  Sizes primes, large;
  for (size_t i = 0; i < free.size(); ++i) {
    const FreeSize& f = free[i];
    std::vector<int64_t> taken = primes;
    for (const Sizes& s : seen) taken.push_back(s[i]);
    int64_t n = *std::max_element(taken.begin(), taken.end()) + 1;
    while (!prime(n)) ++n;
    primes.push_back(n <= f.max ? n : largest_other(f, taken));
    const int64_t room = kUnseenElements / std::max<int64_t>(f.each, 1) /
                         static_cast<int64_t>(free.size() * free.size());
    large.push_back(std::clamp(std::min(room, kLargeSize), f.min, f.max));
  }
  return {primes, large};
}

std::vector<Sizes> many_counts(const std::vector<FreeSize>& free) {
  constexpr size_t kTogether = 24, kAlone = 24;
  constexpr int64_t kOneByOne = 40, kWholeRange = 128;
  std::vector<Sizes> all;
  // Returns size k of f, up to `most`. Golden-ratio steps cover the range evenly, and differ
  // between dimensions; a third of them is small, where most thresholds are.
  auto step = [](const FreeSize& f, int64_t most, size_t k) {
    const double at = std::fmod(0.618033988749895 * static_cast<double>(k + 1), 1.0);
    const auto span = static_cast<double>(most - f.min);
    const double place = k % 3 == 0 ? std::pow(span + 1, at) - 1 : at * span;
    return f.min + static_cast<int64_t>(std::llround(place));
  };
  // Returns the largest size of f for an input of `elements`, with `each` elements per unit of the
  // size.
  auto most = [](const FreeSize& f, int64_t elements, int64_t each) {
    return std::clamp(std::min(elements / std::max<int64_t>(each, 1), kStatedMax), f.min, f.max);
  };
  Sizes least;
  for (const FreeSize& f : free) least.push_back(f.min);
  for (size_t i = 0; i < free.size(); ++i) {
    int64_t each = free[i].each;  // with the others at their smallest
    for (size_t j = 0; j < free.size(); ++j) {
      if (j != i && free[j].example > 0)
        each = each * std::max<int64_t>(free[j].min, 1) / free[j].example;
    }
    auto add = [&](int64_t size) {
      all.push_back(least);
      all.back()[i] = size;
    };
    for (size_t k = 0; k < kAlone; ++k) add(step(free[i], most(free[i], kManyElements, each), k));
    add(most(free[i], kUnseenElements, each));
    // Small sizes one by one, and a short range completely.
    const int64_t range = free[i].max - free[i].min + 1,
                  few = std::min(range, range <= kWholeRange ? kWholeRange : kOneByOne);
    for (int64_t n = 0; n < few; ++n) add(free[i].min + n);
  }
  for (size_t k = 0; k < kTogether && free.size() > 1; ++k) {
    Sizes together;
    for (size_t i = 0; i < free.size(); ++i) {
      const FreeSize& f = free[i];
      together.push_back(step(f, std::max(most(f, kManyElements, f.each), f.example), k + 7 * i));
    }
    all.push_back(together);
  }
  return all;
}

}  // namespace

Shape shape_at(const CaptureInput& in, const std::vector<FreeSize>& free, const Sizes& sizes) {
  Shape shape = in.example.raw_shape();
  for (const DynamicDim& d : in.dynamic) {
    for (size_t i = 0; i < free.size(); ++i) {
      if (free[i].symbol == d.symbol) shape[d.dim] = sizes[i];
    }
  }
  return shape;
}

std::string sizes_text(const std::vector<FreeSize>& free, const Sizes& sizes) {
  std::string text;
  for (size_t i = 0; i < free.size(); ++i)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", free[i].symbol, sizes[i]);
  return text;
}

std::string bounds_hint(const std::vector<FreeSize>& free, const Sizes& sizes) {
  std::string bounds;
  for (size_t i = 0; i < free.size(); ++i) {
    if (sizes[i] == free[i].example) continue;
    bounds += fmt::format("{}{} is {} to {}", bounds.empty() ? "" : ", ", free[i].symbol,
                          free[i].min, free[i].max);
    if (free[i].multiple > 1) bounds += fmt::format(", a multiple of {}", free[i].multiple);
  }
  if (bounds.empty()) return "";
  return ". Sizes that the model is not meant for are kept out by DynamicDim::min, max and "
         "multiple_of (" +
         bounds + ")";
}

void throw_fails_at(const std::vector<FreeSize>& free, const Sizes& sizes,
                    const std::exception& why) {
  const auto* error = dynamic_cast<const Error*>(&why);
  throw FailsAt(fmt::format("[capture] forward runs at {} and fails at {}: {}{}",
                            sizes_text(free, example_sizes(free)), sizes_text(free, sizes),
                            why.what(), bounds_hint(free, sizes)),
                error != nullptr ? error->code() : Code::kInvalidArgument, sizes, why.what());
}

}  // namespace wick
