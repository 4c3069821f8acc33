#include "trainer/optim/group_state.h"

#include <limits>
#include <map>

#include "trainer/checkpoint/json.h"

namespace wick::optim {

namespace {

using Json = nlohmann::json;

void read(const JsonPlace& from, double* to) {
  constexpr double kMost = std::numeric_limits<double>::max();
  *to = from.number(-kMost, kMost);
}
void read(const JsonPlace& from, bool* to) { *to = from.boolean(); }
void read(const JsonPlace& from, int64_t* to) { *to = from.integer(-kMaxJsonCount, kMaxJsonCount); }

}  // namespace

OptimizerState GroupStateView::save() const {
  OptimizerState out;
  JsonWriter steps, json;
  steps.open('[');
  for (size_t i = 0; i < params->size(); ++i) {
    const ParamState& p = (*params)[i];
    steps.value(p.step);
    for (size_t k = 0; k < buffers.size(); ++k) {
      if (!p.buffers[k].defined()) continue;
      out.tensors.emplace_back("state." + std::to_string(i) + "." + buffers[k], p.buffers[k]);
    }
  }
  json.open('{').key("groups").open('[');
  for (const GroupView& group : groups) {
    json.open('{').field("params", group.params->size()).field("initial_lr", *group.initial_lr);
    for (const OptionField& f : group.options)
      std::visit([&](auto* value) { json.field(f.name, *value); }, f.value);
    json.close();
  }
  json.close().field("optimizer", optimizer).key("steps").raw(steps.close().done());
  for (size_t k = 0; k < numbers.size(); ++k) {
    json.key(numbers[k]).open('[');
    for (const ParamState& p : *params) json.value(p.numbers[k]);
    json.close();
  }
  out.settings = json.close().done();
  return out;
}

void GroupStateView::load_settings(const std::string& text,
                                   const std::function<void(size_t)>& check,
                                   const Where& where) const {
  const Json tree = read_json(text, "optimizer");
  const JsonPlace settings(tree, "optimizer");
  const JsonPlace steps = settings.at("steps"), saved_groups = settings.at("groups");
  if (const std::string saved = settings.at("optimizer").text(); saved != optimizer) {
    throw_error(optimizer, "the state is of " + shortened(saved), where);
  }
  if (steps.size() != params->size() || saved_groups.size() != groups.size()) {
    throw_error(optimizer,
                "the state has " + std::to_string(steps.size()) + " parameters in " +
                    std::to_string(saved_groups.size()) + " groups, the optimizer " +
                    std::to_string(params->size()) + " in " + std::to_string(groups.size()),
                where);
  }
  for (size_t i = 0; i < params->size(); ++i) {
    ParamState& p = (*params)[i];
    p.step = steps.at(i).integer(0, kMaxJsonCount);
    for (size_t k = 0; k < numbers.size(); ++k) read(settings.at(numbers[k]).at(i), &p.numbers[k]);
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const JsonPlace fields = saved_groups.at(i);
    const uint64_t held = fields.at("params").count();
    if (held != groups[i].params->size()) {
      throw_error(optimizer,
                  "group " + std::to_string(i) + " has " +
                      std::to_string(groups[i].params->size()) + " parameters, the state " +
                      std::to_string(held),
                  where);
    }
    for (const OptionField& f : groups[i].options)
      std::visit([&](auto* value) { read(fields.at(f.name), value); }, f.value);
    // Older states lack it: then the rate from the constructor is kept.
    if (fields.has("initial_lr")) read(fields.at("initial_lr"), groups[i].initial_lr);
    check(i);
  }
}

void GroupStateView::load(const OptimizerState& state, const std::function<void(size_t)>& check,
                          const std::function<bool(size_t, size_t)>& uses,
                          const Where& where) const {
  try {
    load_settings(state.settings, check, where);
  } catch (const JsonError& e) {
    throw_error(optimizer, std::string("damaged optimizer state: ") + e.what(), where);
  }
  std::map<std::string, Tensor> named(state.tensors.begin(), state.tensors.end());
  size_t used = 0, index = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const Tensor& p : *groups[g].params) {
      ParamState& s = (*params)[index];
      for (size_t k = 0; s.step > 0 && k < buffers.size(); ++k) {
        std::string key = "state." + std::to_string(index) + "." + buffers[k];
        auto it = named.find(key);
        if (it == named.end()) {
          if (uses(g, k)) throw_error(optimizer, "the state lacks " + key, where);
          continue;
        }
        if (it->second.dtype() != p.dtype() || !(it->second.raw_shape() == p.raw_shape())) {
          throw_error(optimizer,
                      key + " is " + dtype_name(it->second.dtype()) +
                          to_text(it->second.raw_shape()).text + ", the parameter " +
                          dtype_name(p.dtype()) + to_text(p.raw_shape()).text,
                      where);
        }
        s.buffers[k] = it->second.contiguous().clone();
        ++used;
      }
      ++index;
    }
  }
  if (used != named.size())
    throw_error(optimizer, "the state has tensors no parameter owns", where);
}

}  // namespace wick::optim
