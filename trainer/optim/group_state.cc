#include "trainer/optim/group_state.h"
#include "trainer/checkpoint/json_text.h"

#include <map>
#include <nlohmann/json.hpp>

namespace wick::optim {

using Json = nlohmann::json;

OptimizerState GroupStateView::save() const {
  OptimizerState out;
  Json steps = Json::array(), saved_groups = Json::array(), products = Json::array();
  for (size_t i = 0; i < params->size(); ++i) {
    const ParamState& p = (*params)[i];
    steps.push_back(p.step);
    products.push_back(p.product);
    for (size_t k = 0; k < buffers.size(); ++k) {
      if (!p.buffers[k].defined()) continue;
      out.tensors.emplace_back("state." + std::to_string(i) + "." + buffers[k], p.buffers[k]);
    }
  }
  for (const GroupView& group : groups) {
    Json fields = {{"params", group.params->size()}, {"initial_lr", *group.initial_lr}};
    for (const OptionField& f : group.options)
      std::visit([&](auto* value) { fields[f.name] = *value; }, f.value);
    saved_groups.push_back(fields);
  }
  Json settings = {{"optimizer", optimizer}, {"steps", steps}, {"groups", saved_groups}};
  if (has_product) settings["products"] = products;
  out.settings = settings.dump();
  return out;
}

void GroupStateView::load_settings(const std::string& text,
                                   const std::function<void(size_t)>& check,
                                   const Where& where) const {
  Json settings = json_or_discarded(text);
  if (settings.is_discarded()) throw_error(optimizer, "damaged optimizer state: no JSON", where);
  if (settings.at("optimizer") != optimizer) {
    throw_error(optimizer, "the state is of " + settings.at("optimizer").get<std::string>(), where);
  }
  if (settings.at("steps").size() != params->size() ||
      settings.at("groups").size() != groups.size()) {
    throw_error(optimizer,
                "the state has " + std::to_string(settings.at("steps").size()) + " parameters in " +
                    std::to_string(settings.at("groups").size()) + " groups, the optimizer " +
                    std::to_string(params->size()) + " in " + std::to_string(groups.size()),
                where);
  }
  for (size_t i = 0; i < params->size(); ++i) {
    ParamState& p = (*params)[i];
    p.step = whole_number(Json{{"step", settings["steps"].at(i)}}, "step", 0, kMostCount,
                          "[" + std::string(optimizer) + "] the state");
    if (has_product) p.product = finite_number(settings.at("products").at(i), "product", optimizer);
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const Json& fields = settings["groups"].at(i);
    if (fields.at("params") != groups[i].params->size()) {
      throw_error(optimizer,
                  "group " + std::to_string(i) + " has " +
                      std::to_string(groups[i].params->size()) + " parameters, the state " +
                      short_text(fields.at("params")),
                  where);
    }
    for (const OptionField& f : groups[i].options)
      std::visit([&](auto* value) { fields.at(f.name).get_to(*value); }, f.value);
    // States written before groups kept it lack it: the rate they were made with stands.
    if (fields.contains("initial_lr")) fields["initial_lr"].get_to(*groups[i].initial_lr);
    check(i);
  }
}

void GroupStateView::load(const OptimizerState& state, const std::function<void(size_t)>& check,
                          const std::function<bool(size_t, size_t)>& uses,
                          const Where& where) const {
  try {
    load_settings(state.settings, check, where);
  } catch (const Json::exception& e) {
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
