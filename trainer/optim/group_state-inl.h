// The step and the state dict of a GroupOptimizer; included where one is instantiated, so that
// users of the header need no JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include <map>

#include "trainer/optim/device_step.h"
#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

template <class O, class K>
void GroupOptimizer<O, K>::update() {
  struct Work {
    const O* options;
    Tensor p, dense, g;  // dense: p, or a copy of a strided one
    void* data;          // of dense
    ParamState* state;
  };
  // What can refuse does so here, before anything has changed.
  std::vector<Work> work, there;  // there: on a Vulkan device
  constexpr bool kOnDevice = requires(typename K::Coefficients c, const Tensor& t, Tensor* s) {
    step_on_device(c, t, t, s);
  };
  size_t index = 0;
  for (const Group<O>& group : groups_) {
    for (const Tensor& p : group.params) {
      ParamState* state = &state_[index++];
      const Tensor g = p.grad();
      if (!g.defined()) continue;
      check_step(K::kName, p, g, *state);
      if (p.is_vulkan()) {
        if constexpr (!kOnDevice) no_device_step(K::kName, p);
        there.push_back({&group.options, p, p, g, nullptr, state});
        continue;
      }
      const Tensor dense = p.is_contiguous() ? p : p.detach().contiguous();
      work.push_back({&group.options, p, dense, g.contiguous(), dense.unsafe_data(), state});
    }
  }
  auto make_buffers = [](const Work& w) {
    bool fresh = false;
    for (size_t i = 0; i < kSlots; ++i) {
      if (w.state->buffers[i].defined() || !K::uses(*w.options, i)) continue;
      w.state->buffers[i] = zeros_like(w.p);
      if constexpr (requires { K::initial(*w.options, i); }) {
        w.state->buffers[i].fill_(K::initial(*w.options, i));
      }
      fresh = fresh || i == 0;
    }
    ++w.state->step;
    return fresh;
  };
  if constexpr (kOnDevice) {
    for (const Work& w : there) {
      const bool fresh = make_buffers(w);
      Tensor* buffers = w.state->buffers;
      for (size_t i = 0; i < kSlots; ++i)
        if (buffers[i].defined()) buffers[i] = buffers[i].to(w.p.device());  // of a state dict
      step_on_device(K::prepare(*w.options, *w.state, fresh), w.p, w.g, buffers);
    }
  }
  if constexpr (requires { &K::apply; }) {
    for (const Work& w : work) {
      make_buffers(w);
      K::apply(*w.options, w.p, w.g, *w.state);
    }
  } else {
    std::vector<LoopArrays> arrays;
    std::vector<typename K::Coefficients> coefficients;
    std::vector<int64_t> sizes;
    for (const Work& w : work) {
      const bool fresh = make_buffers(w);
      LoopArrays a = {w.p.dtype(), w.data, w.g.raw().data, {}};
      for (size_t i = 0; i < kSlots; ++i) {
        if (K::uses(*w.options, i)) a.state[i] = w.state->buffers[i].unsafe_data();
      }
      arrays.push_back(a);
      coefficients.push_back(K::prepare(*w.options, *w.state, fresh));
      sizes.push_back(w.p.layout().numel());
    }
    flat_pass(sizes, [&](size_t i, int64_t begin, int64_t end) {
      K::kLoop(coefficients[i], arrays[i], begin, end);
    });
    for (const Work& w : work) {
      if (!w.p.is_contiguous()) w.p.copy_(w.dense);
    }
  }
}

template <class O, class K>
OptimizerState GroupOptimizer<O, K>::state_dict() const {
  OptimizerState out;
  nlohmann::json steps = nlohmann::json::array(), groups = nlohmann::json::array();
  nlohmann::json products = nlohmann::json::array();
  for (size_t i = 0; i < state_.size(); ++i) {
    steps.push_back(state_[i].step);
    products.push_back(state_[i].product);
    for (size_t k = 0; k < kSlots; ++k) {
      if (!state_[i].buffers[k].defined()) continue;
      out.tensors.emplace_back("state." + std::to_string(i) + "." + K::kBuffers[k],
                               state_[i].buffers[k]);
    }
  }
  for (const Group<O>& group : groups_) {
    nlohmann::json fields = {{"params", group.params.size()}, {"initial_lr", group.initial_lr}};
    const_cast<O&>(group.options).fields([&](const char* name, auto& value) {
      fields[name] = value;
    });
    groups.push_back(fields);
  }
  nlohmann::json settings = {{"optimizer", K::kName}, {"steps", steps}, {"groups", groups}};
  if constexpr (requires { K::kProduct; }) settings["products"] = products;
  out.settings = settings.dump();
  return out;
}

template <class O, class K>
void GroupOptimizer<O, K>::load_state_dict(const OptimizerState& state, Where where) {
  std::vector<ParamState> loaded(state_.size());
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
    for (size_t i = 0; i < loaded.size(); ++i) {
      settings["steps"].at(i).get_to(loaded[i].step);
      if (loaded[i].step < 0) throw_error(K::kName, "the state has a negative step", where);
      if constexpr (requires { K::kProduct; }) {
        settings.at("products").at(i).get_to(loaded[i].product);
      }
    }
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
      // States written before groups kept it lack it: the rate they were made with stands.
      if (fields.contains("initial_lr")) fields["initial_lr"].get_to(groups[i].initial_lr);
      groups[i].options.check(K::kName, where);
    }
  } catch (const nlohmann::json::exception& e) {
    throw_error(K::kName, std::string("damaged optimizer state: ") + e.what(), where);
  }
  std::map<std::string, Tensor> named(state.tensors.begin(), state.tensors.end());
  size_t used = 0, index = 0;
  for (const Group<O>& group : groups) {
    for (const Tensor& p : group.params) {
      ParamState& s = loaded[index];
      for (size_t k = 0; s.step > 0 && k < kSlots; ++k) {
        std::string key = "state." + std::to_string(index) + "." + K::kBuffers[k];
        auto it = named.find(key);
        if (it == named.end()) {
          if (K::uses(group.options, k)) throw_error(K::kName, "the state lacks " + key, where);
          continue;
        }
        if (it->second.dtype() != p.dtype() || !(it->second.raw_shape() == p.raw_shape())) {
          throw_error(K::kName,
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
  if (used != named.size()) throw_error(K::kName, "the state has tensors no parameter owns", where);
  state_ = std::move(loaded);
  groups_ = std::move(groups);
}

}  // namespace wick::optim
