// The models of a server by name. Each can be loaded again from its file while the old one serves
// what it has begun, and unloaded.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/thread_pool.h"
#include "tools/serve/served_model.h"

namespace wick::serve {

struct ModelFile {
  std::string name, path;
};
// Reads "NAME=FILE" or "FILE", whose name without its ending is then the model's. Throws Error for
// a name that a URL has no place for.
ModelFile model_file(const std::string& argument);

class Repository {
 public:
  // Opens every model. Throws Error naming the file, or a name that two have. `cancel` must outlive
  // the repository.
  Repository(const std::vector<ModelFile>& files, const ServeOptions& options,
             const CancelFlag* cancel);

  // Returns the model. Throws Refused: 404 there is none of that name, 503 it is not loaded.
  std::shared_ptr<ServedModel> find(const std::string& name) const;
  // Returns its counts; they live as long as the repository. Throws Refused (404).
  ModelMetrics& metrics(const std::string& name) const;

  // Opens the file of that name; requests that arrive from then on go to the new model. Where the
  // file cannot be opened the old one stays. Throws Refused: 404, 400 with the reason.
  void load(const std::string& name);
  void unload(const std::string& name);

  struct Entry {
    std::string name, path;
    std::shared_ptr<ServedModel> model;  // null: unloaded
    std::string reason;                  // of the last load that failed
    ModelMetrics* metrics;
  };
  // Returns all of them by name.
  std::vector<Entry> list() const;

 private:
  struct Slot {
    std::string path, reason;
    std::shared_ptr<ServedModel> model;
    std::unique_ptr<ModelMetrics> metrics;
  };
  Slot& slot(const std::string& name) const;
  std::shared_ptr<ServedModel> open(const std::string& name, const Slot& slot);

  const ServeOptions options_;
  const CancelFlag* cancel_;
  Owned<ThreadPool> threads_;  // outlives the models
  mutable std::mutex mutex_;   // guards models and reasons; names, paths and counts never change
  std::mutex loading_;         // one file is opened at a time
  mutable std::map<std::string, Slot> slots_;
};

}  // namespace wick::serve
