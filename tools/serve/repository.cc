#include "tools/serve/repository.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "tools/lib/text.h"
#include "trainer/checkpoint/json.h"

namespace wick::serve {

ModelFile model_file(const std::string& argument) {
  const size_t equals = argument.find('=');
  ModelFile file;
  if (equals == std::string::npos) {
    file = {std::filesystem::path(argument).stem().string(), argument};
  } else {
    file = {argument.substr(0, equals), argument.substr(equals + 1)};
  }
  const bool bad = file.name.empty() || file.name == "stats" ||
                   file.name.find_first_of("/?#%\\\"") != std::string::npos ||
                   tool::one_line(file.name) != file.name;
  if (bad || file.path.empty()) {
    throw Error(
        fmt::format("'{}': a model is FILE or NAME=FILE; clients write its name in a URL, so "
                    "it has none of / ? # % \\ \" and is not 'stats'",
                    argument));
  }
  return file;
}

Repository::Repository(const std::vector<ModelFile>& files, const ServeOptions& options,
                       const CancelFlag* cancel)
    : options_(options), cancel_(cancel) {
  const unsigned usable = std::max(1U, std::thread::hardware_concurrency());
  const int threads = options.threads == 0 ? static_cast<int>(usable) : options.threads;
  threads_.reset(tool::take(ThreadPool::create(default_allocator(), threads), "threads"));
  for (const ModelFile& file : files) {
    const auto [at, added] = slots_.try_emplace(file.name);
    if (!added) {
      throw Error(fmt::format("'{}' and '{}' are both named '{}': write NAME=FILE", at->second.path,
                              file.path, file.name));
    }
    at->second.path = file.path;
    at->second.metrics = std::make_unique<ModelMetrics>();
    at->second.model = open(file.name, at->second);
  }
}

std::shared_ptr<ServedModel> Repository::open(const std::string& name, const Slot& slot) {
  try {
    auto model = std::make_shared<ServedModel>(slot.path, options_, threads_.get(),
                                               slot.metrics.get(), cancel_);
    const Batching& batching = model->batching();
    if (options_.log) {
      options_.log(batching.rows > 1 ? fmt::format("model {}: {}, up to {} rows a run", name,
                                                   slot.path, batching.rows)
                                     : fmt::format("model {}: {}, requests run alone: {}", name,
                                                   slot.path, batching.why_not));
    }
    return model;
  } catch (const Error& e) {
    throw Error(fmt::format("model {} ({}): {}", name, slot.path, e.what()), e.code());
  }
}

Repository::Slot& Repository::slot(const std::string& name) const {
  const auto found = slots_.find(name);
  if (found == slots_.end())
    throw Refused(404, fmt::format("there is no model '{}'", shortened(name)));
  return found->second;
}

std::shared_ptr<ServedModel> Repository::find(const std::string& name) const {
  const Slot& found = slot(name);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (found.model == nullptr) throw Refused(503, fmt::format("model '{}' is not loaded", name));
  return found.model;
}

ModelMetrics& Repository::metrics(const std::string& name) const { return *slot(name).metrics; }

void Repository::load(const std::string& name) {
  Slot& to = slot(name);
  const std::lock_guard<std::mutex> one(loading_);
  std::shared_ptr<ServedModel> fresh;
  std::string reason;
  try {
    fresh = open(name, to);
  } catch (const Error& e) {
    reason = e.what();
    if (options_.log) options_.log("not loaded: " + reason);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    to.reason = reason;
    if (fresh != nullptr) to.model.swap(fresh);
  }
  if (!reason.empty()) throw Refused(400, reason);
}

void Repository::unload(const std::string& name) {
  Slot& from = slot(name);
  std::shared_ptr<ServedModel> old;  // ends with its last request, not under the lock
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    old.swap(from.model);
  }
  if (options_.log && old != nullptr) options_.log(fmt::format("model {} was unloaded", name));
}

std::vector<Repository::Entry> Repository::list() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Entry> all;
  for (const auto& [name, slot] : slots_)
    all.push_back({name, slot.path, slot.model, slot.reason, slot.metrics.get()});
  return all;
}

}  // namespace wick::serve
