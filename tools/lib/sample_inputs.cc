#include "tools/lib/sample_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "runtime/core/half.h"
#include "runtime/core/real_text.h"
#include "runtime/ops/attrs.h"
#include "tools/lib/limits.h"
#include "tools/lib/model.h"
#include "tools/lib/usage.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

template <class Symbol>
void check_size(const char* option, const Symbol& symbol, int64_t n) {
  if (n >= symbol.min && n <= symbol.max) return;
  wrong_usage(option, fmt::format("the model takes {} to {} for '{}', got {}", symbol.min,
                                  symbol.max, symbol.name, n));
}

class Sizes {
 public:
  Sizes(const Session& session, const Program& program, const SampleSizes& sizes)
      : session_(session), program_(program), values_(program.symbols().size()) {
    for (size_t i = 0; i < session.input_count(); ++i) {
      if (session.input(i).unranked)
        throw Error(fmt::format("input '{}' has no rank: its shape cannot be made up",
                                session.input(i).name));
    }
    find_batch();
    for (const std::string& text : sizes.named) name(text);
    give_batch(sizes);
  }

  Shape shape(const PortInfo& port) const {
    Shape shape;
    for (const DimDef& d : port.dims) shape.push_back(size(d, port));
    return shape;
  }

 private:
  const SymbolDef& symbol(int32_t s) const { return program_.symbols()[static_cast<size_t>(s)]; }
  std::optional<int64_t>& value(int32_t s) { return values_[static_cast<size_t>(s)]; }

  int64_t size(const DimDef& d, const PortInfo& port) const {
    if (d.symbol < 0) return d.value;
    if (auto n = values_[static_cast<size_t>(d.symbol)]) return *n;
    wrong_usage("--dim", fmt::format("input {} {} needs a size for '{}': --dim {}=N", port.name,
                                     dims_text(program_, port), symbol(d.symbol).name,
                                     symbol(d.symbol).name));
  }

  void find_batch() {
    for (size_t i = 0; i < session_.input_count() && batch_ < 0; ++i) {
      PortInfo port = session_.input(i);
      if (!port.dims.empty()) batch_ = port.dims[0].symbol;
    }
  }

  void name(const std::string& text) {
    const auto [s, n] = named_size(program_, text);
    value(s) = n;
  }

  void give_batch(const SampleSizes& sizes) {
    if (batch_ >= 0) {
      if (sizes.batch) {
        check_size("--batch", symbol(batch_), *sizes.batch);
        value(batch_) = *sizes.batch;
      } else if (!value(batch_)) {
        value(batch_) = std::clamp(sizes.usual_batch, symbol(batch_).min, symbol(batch_).max);
      }
      return;
    }
    if (!sizes.batch) return;
    if (session_.input_count() == 0 || session_.input(0).dims.empty()) {
      if (*sizes.batch == 1) return;
      wrong_usage("--batch", "the model's first input has no dimension for a batch");
    }
    PortInfo first = session_.input(0);
    if (first.dims[0].value == *sizes.batch) return;
    wrong_usage(
        "--batch",
        fmt::format("the model's sizes are fixed: input {} is {}, which is a batch of {}, "
                    "not {}",
                    first.name, dims_text(program_, first), first.dims[0].value, *sizes.batch));
  }

  const Session& session_;
  const Program& program_;
  int32_t batch_ = -1;  // the symbol; -1: every first dimension is fixed
  std::vector<std::optional<int64_t>> values_;
};

// Returns whether a node's first output holds the numbers of its first input.
bool keeps_numbers(OpId op) {
  return op == OpId::kCast || op == OpId::kReshape || op == OpId::kIdentity ||
         op == OpId::kUnsqueeze || op == OpId::kSqueeze || op == OpId::kFlatten;
}

// Returns the least size of the tables that an entry point's input indexes, as far as its body
// shows; `most` if there is none.
int64_t least_table(const EntryDef& entry, uint32_t input, int64_t most) {
  std::set<uint32_t> same = {input};
  for (const NodeDef& n : entry.body().nodes) {
    if (keeps_numbers(n.op) && same.count(n.inputs[0]) != 0) same.insert(n.outputs[0]);
    if (n.op != OpId::kGather || same.count(n.inputs[1]) == 0) continue;
    const ValueDef& table = entry.values[n.inputs[0]];
    const auto rank = static_cast<int64_t>(table.dims.size());
    const int64_t axis = static_cast<const AxisAttrs*>(n.attrs)->axis;
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (table.unranked || at < 0 || at >= rank) continue;
    const DimDef& size = table.dims[static_cast<size_t>(at)];
    if (size.symbol < 0 && size.value > 0) most = std::min(most, size.value);
  }
  return most;
}

// The same of every entry point whose input has that place and name: a session does not say which
// one it runs.
int64_t index_count(const Program& program, size_t place, const char* name) {
  int64_t most = INT32_MAX;
  for (const EntryDef& entry : program.entries()) {
    const Span<const uint32_t> inputs = entry.body().inputs;
    if (place < inputs.size() && std::strcmp(entry.values[inputs[place]].name, name) == 0)
      most = least_table(entry, inputs[place], most);
  }
  return most;
}

class Numbers {
 public:
  explicit Numbers(SampleValues values) : values_(values) {}

  // Leaves types that have no numbers of their own as they are. Integers are below `count`.
  void fill(HostTensor* t, int64_t count) {
    const auto below = [count](int64_t usual) {
      return static_cast<float>(std::min(usual, count));
    };
    switch (t->dtype()) {
      case DType::kF32: return floats<float>(t);
      case DType::kF64: return floats<double>(t);
      case DType::kF16: return floats<Half>(t);
      case DType::kBF16: return floats<BFloat16>(t);
      case DType::kU8: return integers<uint8_t>(t, below(256));
      case DType::kI8: return integers<int8_t>(t, below(4));
      case DType::kI16: return integers<int16_t>(t, below(4));
      case DType::kU16: return integers<uint16_t>(t, below(4));
      case DType::kI32: return integers<int32_t>(t, below(4));
      case DType::kU32: return integers<uint32_t>(t, below(4));
      case DType::kI64: return integers<int64_t>(t, below(4));
      case DType::kU64: return integers<uint64_t>(t, below(4));
      case DType::kBool: return integers<uint8_t>(t, 2);
      default:
        for (int64_t k = 0; k < t->numel(); ++k) next();
    }
  }

 private:
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(state_ >> 40) * 0x1p-24f;
  }
  float real() {
    const float u = next();
    if (values_ == SampleValues::kTies) return std::round(u * 12 - 6) / 2;
    if (values_ == SampleValues::kSpecials && u < 1.0F / 16) {
      constexpr float kInf = std::numeric_limits<float>::infinity();
      constexpr float kOf[] = {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf, 0x1p-130f};
      return kOf[static_cast<int>(u * 64)];
    }
    return u * 2 - 1;
  }
  template <class T>
  void floats(HostTensor* t) {
    const int64_t n = t->numel();
    for (int64_t k = 0; k < n; ++k) t->as<T>()[k] = static_cast<T>(real());
    if (values_ != SampleValues::kSpecials) return;
    // Few elements may have drawn none. The last ones get them, so that the rows before stay
    // finite.
    constexpr float kInf = std::numeric_limits<float>::infinity();
    constexpr float kOf[] = {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf};
    for (int64_t k = 0; k < std::min<int64_t>(n, 3); ++k)
      t->as<T>()[n - 1 - k] = static_cast<T>(kOf[k]);
  }
  template <class T>
  void integers(HostTensor* t, float count) {
    for (int64_t k = 0; k < t->numel(); ++k)
      t->as<T>()[k] = static_cast<T>(static_cast<int>(next() * count));
  }

  SampleValues values_;
  uint64_t state_ = 1;
};

// A string is made as text in a list, then copied: both grow by doubling, and its own tensor has
// it once more.
constexpr uint64_t kStringBytes = 2 * sizeof(std::string) + 3 * sizeof(StringRef);

// Refuses inputs of more bytes than may be made up.
void check_bytes(const Session& session, const Sizes& sizes) {
  uint64_t all = 0;
  for (size_t i = 0; i < session.input_count(); ++i) {
    const PortInfo port = session.input(i);
    if (is_container(port.dtype)) continue;  // is refused by itself
    const int bits = port.dtype == DType::kString ? static_cast<int>(8 * kStringBytes)
                                                  : static_cast<int>(dtype_bits(port.dtype));
    Result<size_t> bytes = checked_bytes(sizes.shape(port), bits);
    const uint64_t more = bytes.ok() ? *bytes : UINT64_MAX;
    all = more > UINT64_MAX - all ? UINT64_MAX : all + more;
  }
  const uint64_t most = within_memory(UINT64_MAX);
  if (all <= most) return;
  const std::string text = all == UINT64_MAX ? "more than 2^64" : std::to_string(all);
  throw Error(fmt::format("the inputs take {} bytes, more than the {} that may be made up here",
                          text, most),
              Code::kBudgetExceeded);
}

// Finds the symbol that "NAME=N" names, of a program or of a graph.
template <class Symbols>
std::pair<int32_t, int64_t> named_among(const Symbols& symbols, const std::string& text) {
  const size_t equals = text.rfind('=');
  int64_t n = -1;
  if (equals == std::string::npos || !read_integer(std::string_view(text).substr(equals + 1), &n) ||
      n < 0)
    wrong_usage("--dim", "must be NAME=N, got '" + text + "'");
  const std::string wanted = text.substr(0, equals);
  std::string known;
  for (size_t s = 0; s < symbols.size(); ++s) {
    if (wanted == symbols[s].name) {
      check_size("--dim", symbols[s], n);
      return {static_cast<int32_t>(s), n};
    }
    known += fmt::format(" {}", symbols[s].name);
  }
  wrong_usage("--dim", fmt::format("the model has no size named '{}'; it has{}", wanted,
                                   known.empty() ? " none" : ":" + known));
}

}  // namespace

std::pair<int32_t, int64_t> named_size(const Program& program, const std::string& text) {
  return named_among(program.symbols(), text);
}
void check_named_size(const ir::Graph& graph, const std::string& text) {
  named_among(graph.symbols(), text);
}

Sample sample_inputs(const Session& session, const Program& program, const SampleSizes& sizes) {
  Sizes chosen(session, program, sizes);
  check_bytes(session, chosen);
  Sample sample;
  Numbers numbers(sizes.values);
  for (size_t i = 0; i < session.input_count(); ++i) {
    PortInfo port = session.input(i);
    if (is_container(port.dtype))
      throw Error(fmt::format("input '{}' is a sequence or an optional: no sample can be made up, "
                              "give files (wick run)",
                              port.name),
                  Code::kUnsupported);
    HostTensor t(port.dtype, chosen.shape(port));
    if (port.dtype == DType::kString) {  // "0", "1" ...: words that are numbers, too
      std::vector<std::string> strings;
      for (int64_t k = 0; k < t.numel(); ++k) strings.push_back(std::to_string(k % 10));
      t = HostTensor::strings(t.shape(), strings);
    }
    numbers.fill(&t, index_count(program, i, port.name));
    if (i == 0 && t.shape().rank() > 0) sample.batch = t.shape()[0];
    sample.inputs.push_back(std::move(t));
  }
  return sample;
}

}  // namespace wick::tool
