// The state dict of a GroupOptimizer; included where one is instantiated, so that users of the
// header need no JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include <map>

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

template <class O, class K>
OptimizerState GroupOptimizer<O, K>::state_dict() const {
  OptimizerState out;
  nlohmann::json steps = nlohmann::json::array(), groups = nlohmann::json::array();
  for (size_t i = 0; i < state_.size(); ++i) {
    steps.push_back(state_[i].step);
    for (const auto& [name, tensor] : state_[i].buffers) {
      out.tensors.emplace_back("state." + std::to_string(i) + "." + name, tensor);
    }
  }
  for (const Group<O>& group : groups_) {
    nlohmann::json fields = {{"params", group.params.size()}};
    const_cast<O&>(group.options).fields([&](const char* name, auto& value) {
      fields[name] = value;
    });
    groups.push_back(fields);
  }
  out.settings =
      nlohmann::json{{"optimizer", K::kName}, {"steps", steps}, {"groups", groups}}.dump();
  return out;
}

template <class O, class K>
void GroupOptimizer<O, K>::load_state_dict(const OptimizerState& state, Where where) {
  std::vector<State> loaded(state_.size());
  std::vector<Group<O>> groups = groups_;
  try {
    nlohmann::json settings = nlohmann::json::parse(state.settings);
    if (settings.at("optimizer") != K::kName) {
      throw_error(K::kName, "the state is of " + settings.at("optimizer").get<std::string>(),
                  where);
    }
    if (settings.at("steps").size() != loaded.size() ||
        settings.at("groups").size() != groups.size()) {
      throw_error(K::kName,
                  "the state has " + std::to_string(settings.at("steps").size()) +
                      " parameters in " + std::to_string(settings.at("groups").size()) +
                      " groups, the optimizer " + std::to_string(loaded.size()) + " in " +
                      std::to_string(groups.size()),
                  where);
    }
    for (size_t i = 0; i < loaded.size(); ++i) settings["steps"].at(i).get_to(loaded[i].step);
    for (size_t i = 0; i < groups.size(); ++i) {
      const nlohmann::json& fields = settings["groups"].at(i);
      if (fields.at("params") != groups[i].params.size()) {
        throw_error(K::kName,
                    "group " + std::to_string(i) + " has " +
                        std::to_string(groups[i].params.size()) + " parameters, the state " +
                        fields.at("params").dump(),
                    where);
      }
      groups[i].options.fields(
          [&](const char* name, auto& value) { fields.at(name).get_to(value); });
    }
  } catch (const nlohmann::json::exception& e) {
    throw_error(K::kName, std::string("damaged optimizer state: ") + e.what(), where);
  }
  std::map<std::string, Tensor> named(state.tensors.begin(), state.tensors.end());
  size_t used = 0, index = 0;
  for (const Group<O>& group : groups) {
    for (const Tensor& p : group.params) {
      State& s = loaded[index];
      if (s.step > 0) {
        for (const char* name : K::buffers(group.options)) {
          std::string key = "state." + std::to_string(index) + "." + name;
          auto it = named.find(key);
          if (it == named.end()) throw_error(K::kName, "the state lacks " + key, where);
          if (it->second.dtype() != p.dtype() || !(it->second.raw_shape() == p.raw_shape())) {
            throw_error(K::kName,
                        key + " is " + dtype_name(it->second.dtype()) +
                            to_text(it->second.raw_shape()).text + ", the parameter " +
                            dtype_name(p.dtype()) + to_text(p.raw_shape()).text,
                        where);
          }
          s.buffers.emplace_back(name, it->second.clone());
          ++used;
        }
      }
      ++index;
    }
  }
  if (used != named.size()) throw_error(K::kName, "the state has tensors no parameter owns", where);
  state_ = std::move(loaded);
  groups_ = std::move(groups);
}

}  // namespace wick::optim
