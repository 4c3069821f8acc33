// The state dict of LBFGS: tensors of PyTorch's names, numbers that rounding must not touch as
// float64 tensors, counts and options as JSON.
#include <fmt/core.h>

#include <limits>
#include <map>

#include "trainer/checkpoint/json.h"
#include "trainer/optim/lbfgs.h"
#include "trainer/tensor/ops.h"

namespace wick::optim {
namespace {

std::string entry(const std::string& name) { return "state.0." + name; }
std::string entry(const char* list, size_t i) { return entry(fmt::format("{}.{}", list, i)); }

Tensor of_doubles(const std::vector<double>& values) {
  const auto n = static_cast<int64_t>(values.size());
  return from_blob(values.data(), Shape{n}, DType::kF64).clone();
}

void read_option(const JsonPlace& from, double* to) {
  constexpr double kMost = std::numeric_limits<double>::max();
  *to = from.number(-kMost, kMost);
}
void read_option(const JsonPlace& from, int64_t* to) {
  *to = from.integer(-kMaxJsonCount, kMaxJsonCount);
}
void read_option(const JsonPlace& from, std::string* to) { *to = from.text(); }

// The tensors of a state, each asked for once.
class Taken {
 public:
  Taken(const char* op, const nn::NamedTensors& tensors, const Where& where)
      : op_(op), named_(tensors.begin(), tensors.end()), where_(where) {}

  Tensor take(const std::string& name, DType dtype, int64_t n) {
    auto it = named_.find(name);
    if (it == named_.end()) throw_error(op_, "the state lacks " + name, where_);
    const Tensor t = it->second;
    if (t.dtype() != dtype || !(t.raw_shape() == Shape{n})) {
      throw_error(op_,
                  fmt::format("{} is {}{}, the optimizer's {}[{}]", name, dtype_name(t.dtype()),
                              to_text(t.raw_shape()).text, dtype_name(dtype), n),
                  where_);
    }
    named_.erase(it);
    return t.detach().contiguous().clone();
  }
  bool empty() const { return named_.empty(); }

 private:
  const char* op_;
  std::map<std::string, Tensor> named_;
  const Where& where_;
};

}  // namespace

OptimizerState LBFGS::state_dict() const {
  OptimizerState out;
  auto put = [&](const std::string& name, const Tensor& t) { out.tensors.emplace_back(name, t); };
  const Memory& m = memory_;
  if (m.d.defined()) {
    put(entry("d"), m.d);
    put(entry("prev_flat_grad"), m.prev_flat_grad);
    put(entry("t"), of_doubles({m.t}));
    put(entry("H_diag"), of_doubles({m.h_diag}));
    put(entry("prev_loss"), of_doubles({m.prev_loss}));
  }
  if (!m.ro.empty()) put(entry("ro"), of_doubles(m.ro));
  for (size_t i = 0; i < m.ro.size(); ++i) {
    put(entry("old_dirs", i), m.old_dirs[i]);
    put(entry("old_stps", i), m.old_stps[i]);
  }
  LbfgsOptions options = group_.options;
  JsonWriter json;
  json.open('{').key("groups").open('[').open('{');
  json.field("params", group_.params.size()).field("initial_lr", group_.initial_lr);
  options.fields([&](const char* name, const auto& value) { json.field(name, value); });
  json.close().close().field("optimizer", kName).field("n_iter", m.n_iter);
  json.field("func_evals", m.func_evals).field("pairs", m.ro.size());
  out.settings = json.close().done();
  return out;
}

void LBFGS::load_state_dict(const OptimizerState& state, Where where) {
  Group<LbfgsOptions> group = group_;
  Memory m;
  int64_t pairs = 0;
  try {
    const nlohmann::json tree = read_json(state.settings, "optimizer");
    const JsonPlace settings(tree, "optimizer");
    if (const std::string saved = settings.at("optimizer").text(); saved != kName) {
      throw_error(kName, "the state is of " + shortened(saved), where);
    }
    const JsonPlace fields = settings.at("groups").at(size_t{0});
    if (const uint64_t held = fields.at("params").count(); held != group.params.size()) {
      throw_error(
          kName,
          fmt::format("the state has {} parameters, the optimizer {}", held, group.params.size()),
          where);
    }
    group.options.fields(
        [&](const char* name, auto& value) { read_option(fields.at(name), &value); });
    read_option(fields.at("initial_lr"), &group.initial_lr);
    group.options.check(kName, where);
    m.n_iter = settings.at("n_iter").integer(0, kMaxJsonCount);
    m.func_evals = settings.at("func_evals").integer(0, kMaxJsonCount);
    pairs = settings.at("pairs").integer(0, std::min(m.n_iter, kMaxJsonCount));
  } catch (const JsonError& e) {
    throw_error(kName, std::string("damaged optimizer state: ") + e.what(), where);
  }
  Taken taken(kName, state.tensors, where);
  if (m.n_iter > 0) {
    m.d = taken.take(entry("d"), dtype(), numel());
    m.prev_flat_grad = taken.take(entry("prev_flat_grad"), dtype(), numel());
    m.t = taken.take(entry("t"), DType::kF64, 1).item();
    m.h_diag = taken.take(entry("H_diag"), DType::kF64, 1).item();
    m.prev_loss = taken.take(entry("prev_loss"), DType::kF64, 1).item();
  }
  if (pairs > 0) m.ro = taken.take(entry("ro"), DType::kF64, pairs).to_vector<double>();
  for (size_t i = 0; i < m.ro.size(); ++i) {
    m.old_dirs.push_back(taken.take(entry("old_dirs", i), dtype(), numel()));
    m.old_stps.push_back(taken.take(entry("old_stps", i), dtype(), numel()));
  }
  if (!taken.empty()) throw_error(kName, "the state has tensors no parameter owns", where);
  group_ = std::move(group);
  memory_ = std::move(m);
}

}  // namespace wick::optim
