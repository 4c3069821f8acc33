#include "tools/serve/batch_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "runtime/core/half.h"
#include "runtime/exec/session.h"
#include "runtime/ops/op_info.h"
#include "tools/lib/limits.h"
#include "tools/lib/model.h"
#include "tools/lib/node_trace.h"
#include "tools/lib/sample_inputs.h"
#include "tools/serve/run_queue.h"
#include "wick/error.h"

namespace wick::serve {
namespace {

using tool::SampleValues;
using tool::take;

// Rows of a trial. A dim that holds the batch is three times as long as for one row.
constexpr int64_t kTrialRows = 3;

// Returns the symbol of dim 0 of every input; -1 and a reason where there is none.
int32_t batch_symbol(const Session& session, std::string* why) {
  int32_t batch = -1;
  for (size_t i = 0; i < session.input_count(); ++i) {
    const PortInfo port = session.input(i);
    const int32_t s = port.unranked || port.dims.empty() ? -1 : port.dims[0].symbol;
    if (s < 0 || (i > 0 && s != batch)) {
      *why = fmt::format("dim 0 of input '{}' is no free size{}", port.name,
                         i > 0 ? " that all inputs share" : "");
      return -1;
    }
    batch = s;
    if (is_container(port.dtype) || port.dtype == DType::kString) {
      *why = fmt::format("input '{}' is no tensor of numbers", port.name);
      return -1;
    }
    for (size_t d = 1; d < port.dims.size(); ++d) {
      if (port.dims[d].symbol != s) continue;
      *why = fmt::format("input '{}' has the batch's size in dim {}, too", port.name, d);
      return -1;
    }
  }
  if (batch < 0) *why = "the model has no inputs";
  return batch;
}

// Returns why the program forbids it; "" if it does not.
std::string forbidden(const Session& session, const EntryDef& entry, int32_t batch) {
  for (size_t i = 0; i < session.output_count(); ++i) {
    const PortInfo port = session.output(i);
    if (port.unranked || port.dims.empty() || port.dims[0].symbol != batch ||
        is_container(port.dtype) || port.dtype == DType::kString)
      return fmt::format("dim 0 of output '{}' is not the batch", port.name);
  }
  for (const ValueDef& value : entry.values) {
    if (value.state != kNoIndex) return "it keeps values between runs";
  }
  if (entry.regions.size() > 1) return "it has branches or loops, which may depend on values";
  for (const NodeDef& node : entry.body().nodes) {
    if (node.info != nullptr && is_data_dependent(node.op))
      return fmt::format("sizes of {} depend on values", node.info->name);
  }
  return "";
}

// FNV-1a of a tensor's elements; every NaN counts as one value.
class Digest {
 public:
  void add(const HostTensor& t, int64_t element) {
    const size_t size = dtype_size(t.dtype());
    const char* from = t.as<char>() + static_cast<size_t>(element) * size;
    const bool nan = is_float(t.dtype()) && std::isnan(element_as_double(t, element));
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
      uint64_t bits = 0;
      memcpy(&bits, from + at, std::min(size - at, sizeof bits));
      value_ = (value_ ^ (nan ? ~uint64_t{0} : bits)) * 0x100000001b3u;
      value_ ^= value_ >> 29;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

// Returns the digest of part `part` of `parts` equal ones along an axis.
uint64_t digest_of(const HostTensor& t, int axis, int64_t part, int64_t parts) {
  Digest digest;
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < axis; ++d) outer *= t.shape()[d];
  for (int d = axis + 1; d < t.shape().rank(); ++d) inner *= t.shape()[d];
  const int64_t whole = t.shape().rank() == 0 ? 1 : t.shape()[axis];
  const int64_t length = whole / parts;
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t first = (o * whole + part * length) * inner;
    for (int64_t k = 0; k < length * inner; ++k) digest.add(t, first + k);
  }
  return digest.value();
}

// Looks at every value of a trial's runs, first of its rows alone, then of all of them together.
class Trial final : public TraceHook {
 public:
  bool takes_blocks() const override { return true; }
  void begin(int64_t row) {  // kTrialRows: all of them
    row_ = row;
    at_ = 0;
  }
  void on_op(const TraceEvent& e) override {
    for (const TensorView& view : e.out) {
      if (!view.present()) continue;
      const HostTensor t = tool::copy_of(view);
      if (row_ == 0) values_.push_back({t.shape(), {}});
      if (at_ == values_.size()) return complain(e, "runs another number of steps");
      Value& value = values_[at_++];
      if (dtype_size(t.dtype()) == 0) return complain(e, "has elements of less than a byte");
      if (row_ < kTrialRows) {
        if (!(value.shape == t.shape())) return complain(e, "has a size that depends on values");
        value.rows.push_back(digest_of(t, 0, 0, 1));
      } else {
        judge(e, value, t);
      }
    }
  }
  const std::string& problem() const { return problem_; }

 private:
  struct Value {
    Shape shape;
    std::vector<uint64_t> rows;
  };

  void judge(const TraceEvent& e, const Value& value, const HostTensor& t) {
    if (t.shape().rank() != value.shape.rank()) return complain(e, "has another rank in a batch");
    int axis = -1;
    for (int d = 0; d < t.shape().rank(); ++d) {
      if (t.shape()[d] == value.shape[d]) continue;
      if (axis >= 0 || t.shape()[d] != kTrialRows * value.shape[d])
        return complain(e, "has a size that is not the batch's");
      axis = d;
    }
    // The number of rows, and sizes made of it. Where such a number enters a row's value, that
    // value differs, too.
    const bool same = std::equal(value.rows.begin() + 1, value.rows.end(), value.rows.begin());
    if (axis < 0 && same && (t.dtype() == DType::kI64 || t.dtype() == DType::kI32)) return;
    for (int64_t row = 0; row < kTrialRows; ++row) {
      const uint64_t together =
          axis < 0 ? digest_of(t, 0, 0, 1) : digest_of(t, axis, row, kTrialRows);
      if (together != value.rows[static_cast<size_t>(row)])
        return complain(e, axis < 0 ? "has one value for the whole batch"
                                    : "gives a row another value than it has alone");
    }
  }
  void complain(const TraceEvent& e, const char* what) {
    if (problem_.empty())
      problem_ = fmt::format("{}{}{} {}", e.op, e.node[0] == '\0' ? "" : " ", e.node, what);
  }

  std::vector<Value> values_;
  std::string problem_;
  int64_t row_ = 0;
  size_t at_ = 0;  // of values_
};

// Makes the rows differ in magnitude, so that a maximum or a mean over them shows.
void spread(HostTensor* t) {
  const int64_t row = t->numel() / t->shape()[0];
  const auto scale = [&](auto* data) {
    for (int64_t i = 0; i < t->numel(); ++i) {
      const float by = i / row == 0 ? 1.0F : i / row == 1 ? 512.0F : 1.0F / 512;
      data[i] = std::remove_pointer_t<decltype(data)>(static_cast<float>(data[i]) * by);
    }
  };
  if (t->dtype() == DType::kF32) scale(t->as<float>());
  if (t->dtype() == DType::kF64) scale(t->as<double>());
  if (t->dtype() == DType::kF16) scale(t->as<Half>());
  if (t->dtype() == DType::kBF16) scale(t->as<BFloat16>());
}

// What all runs of a trial may take together.
struct TrialLimits {
  uint64_t max_ram = 0, end_ns = 0;  // end_ns: of now_ns()
  const CancelFlag* cancel = nullptr;
};

void run_once(Session* session, const std::vector<HostTensor>& inputs, const TrialLimits& limits) {
  std::vector<TensorView> in, out(session->output_count());
  for (const HostTensor& t : inputs) in.push_back(t.view());
  RunOptions options;
  const uint64_t now = now_ns();
  options.timeout_ns = now < limits.end_ns ? limits.end_ns - now : 1;
  options.cancel = limits.cancel;
  tool::check(session->run(in, out, options), "a trial run");
}

// Returns what a trial on such values finds; "" if each row stands for itself.
std::string tried(const Program& program, const TrialLimits& limits, SampleValues values) {
  Trial trial;
  SessionOptions options;
  options.trace = &trial;
  options.max_ram = limits.max_ram;
  const tool::QuickLimits of_inputs(limits.max_ram, 0);
  Owned<Session> session = take(Session::create(program, options), "a session for the trial");
  tool::SampleSizes sizes{.batch = kTrialRows, .values = values};
  // Other free sizes are small: what a row means does not depend on them.
  std::set<int32_t> named = {session->input(0).dims[0].symbol};
  for (size_t i = 0; i < session->input_count(); ++i) {
    for (const DimDef& d : session->input(i).dims) {
      if (d.symbol < 0 || !named.insert(d.symbol).second) continue;
      const SymbolDef& s = program.symbols()[static_cast<size_t>(d.symbol)];
      sizes.named.push_back(fmt::format("{}={}", s.name, std::clamp<int64_t>(16, s.min, s.max)));
    }
  }
  std::vector<HostTensor> all = tool::sample_inputs(*session, program, sizes).inputs;
  for (HostTensor& t : all) spread(&t);
  for (int64_t row = 0; row < kTrialRows; ++row) {
    std::vector<HostTensor> one;
    for (const HostTensor& t : all) one.push_back(rows_of(t, row, 1));
    trial.begin(row);
    run_once(session.get(), one, limits);
  }
  trial.begin(kTrialRows);
  run_once(session.get(), all, limits);
  return trial.problem();
}

}  // namespace

Batching batching_of(const Program& program, int64_t most, uint64_t max_ram,
                     const CancelFlag* cancel, uint64_t trial_ns) {
  if (most <= 1) return {1, "it was not asked for"};
  SessionOptions options;
  options.max_ram = max_ram;
  options.threads = 1;
  const Owned<Session> session = take(Session::create(program, options), "a session for the trial");
  std::string why;
  const int32_t batch = batch_symbol(*session, &why);
  if (batch < 0) return {1, why};
  const SymbolDef& symbol = program.symbols()[static_cast<size_t>(batch)];
  if (symbol.min > 1 || symbol.max < kTrialRows) {
    return {1, fmt::format("the model takes {} to {} rows", symbol.min, symbol.max)};
  }
  why = forbidden(*session, program.entries()[0], batch);
  if (!why.empty()) return {1, why};
  const TrialLimits limits = {max_ram, now_ns() + trial_ns, cancel};
  try {
    for (const SampleValues values : {SampleValues::kUniform, SampleValues::kSpecials}) {
      why = tried(program, limits, values);
      if (!why.empty()) return {1, why};
    }
  } catch (const Error& e) {
    return {1, std::string("the trial failed: ") + e.what()};
  }
  return {std::min(most, symbol.max), ""};
}

}  // namespace wick::serve
