#include "trainer/distributed/parallel/checkpoint.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "trainer/checkpoint/safetensors.h"
#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

constexpr const char* kDigestKey = "wick.sha256";
constexpr const char* kParameter = "parameter.";

nn::NamedTensors copies_of(const nn::NamedTensors& tensors) {
  NoGrad guard;
  nn::NamedTensors copies;
  for (const auto& [name, t] : tensors) copies.emplace_back(name, t.detach().clone());
  return copies;
}

}  // namespace

std::string shard_file(int rank, int ranks) {
  return "shard-" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".safetensors";
}

std::pair<std::string, int> find_checkpoint(const std::string& folder) {
  for (const std::string& place : {folder, folder + ".old"}) {
    std::error_code failed;
    for (const auto& file : std::filesystem::directory_iterator(place, failed)) {
      const std::string name = file.path().filename().string(), start = "shard-0-of-";
      if (name.rfind(start, 0) != 0) continue;
      const int ranks = atoi(name.c_str() + start.size());
      if (ranks > 0) return {place, ranks};
    }
  }
  return {"", 0};
}

bool has_checkpoint(const std::string& folder) { return find_checkpoint(folder).second > 0; }

ReadShard read_shard(const std::string& path, const Where& where) {
  Safetensors file = load_safetensors(path);
  if (file.metadata[kDigestKey] != state_sha256(file.tensors)) {
    throw_error("load_sharded", path + ": its tensors are not those that were saved (SHA-256)",
                where);
  }
  return {std::move(file.tensors), std::move(file.metadata)};
}

void write_checkpoint(Group& group, const std::string& folder, Snapshot snapshot,
                      const std::function<void(const std::string&)>& fail, const Where& where) {
  const std::string fresh = folder + ".new", old = folder + ".old";
  namespace fs = std::filesystem;
  const int rank = group.rank();
  std::string failure;
  if (rank == 0) {
    std::error_code failed;
    fs::remove_all(fresh, failed);
    fs::create_directories(fresh, failed);
    if (failed) failure = "cannot make " + fresh + ": " + failed.message();
  }
  group.barrier({.name = "checkpoint folder"}, where);
  if (failure.empty() && !snapshot.tensors.empty()) {
    try {
      snapshot.metadata[kDigestKey] = state_sha256(snapshot.tensors);
      save_safetensors(fresh + "/" + snapshot.file, snapshot.tensors, snapshot.metadata);
    } catch (const Error& e) {
      failure = e.what();
    }
  }
  // Ranks that share no folder, or have a full disk, say so before the last checkpoint is replaced.
  if (!failure.empty()) fail(failure);
  group.barrier({.name = "checkpoint written"}, where);
  if (rank == 0) {
    std::error_code failed;
    // A save that was interrupted between the renames has left `old` as the only whole one.
    if (fs::exists(folder)) {
      fs::remove_all(old, failed);
      fs::rename(folder, old, failed);
    }
    if (!failed) fs::rename(fresh, folder, failed);
    if (failed) failure = "cannot replace " + folder + ": " + failed.message();
    if (failure.empty()) fs::remove_all(old, failed);
  }
  if (!failure.empty()) fail(failure);
  group.barrier({.name = "checkpoint in place"}, where);
}

struct Saving::State {
  std::thread thread;
  std::exception_ptr error;
  ~State() { finish(); }
  void finish() {
    if (thread.joinable()) thread.join();
  }
};

void Saving::wait() {
  if (state_ == nullptr) return;
  state_->finish();
  if (state_->error) std::rethrow_exception(std::exchange(state_->error, nullptr));
}

Snapshot DataParallel::snapshot(const optim::Optimizer& optimizer) {
  Snapshot s;
  s.file = shard_file(0, 1);
  s.metadata = metadata();
  s.metadata[kOptimizerKey] = optimizer.name();
  const optim::OptimizerState state = optimizer.state_dict();
  s.metadata[kSettingsKey] = state.settings;
  if (impl_->group.rank() != 0) return s;  // all ranks have the same
  for (const auto& [name, t] : impl_->net.named_parameters())
    s.tensors.emplace_back(kParameter + name, t);
  for (const auto& [name, t] : impl_->net.named_buffers())
    s.tensors.emplace_back(kBufferPrefix + name, t);
  for (const auto& [name, t] : state.tensors) s.tensors.emplace_back(kOptimizerPrefix + name, t);
  s.tensors.emplace_back(kGeneratorName, default_generator().get_state());
  return s;
}

Saving DataParallel::save_async(const std::string& folder, const optim::Optimizer& optimizer,
                                const Notes& notes, Where where) {
  Impl& m = *impl_;
  if (m.open) throw_error("save_sharded", "within a batch: call finish() first", where);
  m.saving.wait();
  if (!m.checkpoints) m.checkpoints = m.group.split(0, m.group.rank(), "checkpoints", where);
  Snapshot s = snapshot(optimizer);
  s.tensors = copies_of(s.tensors);
  for (const auto& [name, text] : notes) s.metadata[kNotePrefix + name] = text;
  m.saving.state_ = std::make_shared<Saving::State>();
  m.saving.state_->thread =
      std::thread([state = m.saving.state_.get(), group = *m.checkpoints, folder, s = std::move(s),
                   where, ranks = m.group.size()]() mutable {
        auto fail = [&](const std::string& text) {
          if (ranks == 1) throw_error("save_sharded", text, where);
          group.fail("[save_sharded] " + text, where);
        };
        try {
          write_checkpoint(group, folder, std::move(s), fail, where);
        } catch (...) {
          state->error = std::current_exception();
        }
      });
  return m.saving;
}

void DataParallel::save(const std::string& folder, const optim::Optimizer& optimizer,
                        const Notes& notes, Where where) {
  save_async(folder, optimizer, notes, where).wait();
}

std::string DataParallel::checkpoint_folder(const std::string& folder, int* ranks,
                                            const Where& where) {
  if (impl_->open) throw_error("load_sharded", "within a batch: call finish() first", where);
  impl_->saving.wait();
  const auto [place, n] = find_checkpoint(folder);
  if (n == 0)
    throw_error("load_sharded", "no shard-0-of-N.safetensors in " + folder, where, Code::kNotFound);
  *ranks = n;
  return place;
}

Notes DataParallel::notes_of(const std::map<std::string, std::string>& metadata) {
  Notes notes;
  for (const auto& [key, text] : metadata) {
    if (key.rfind(kNotePrefix, 0) == 0) notes[key.substr(std::string(kNotePrefix).size())] = text;
  }
  return notes;
}

Notes DataParallel::load(const std::string& folder, optim::Optimizer& optimizer, Where where) {
  int ranks = 0;
  const std::string place = checkpoint_folder(folder, &ranks, where);
  const Notes notes = load_file(place + "/" + shard_file(0, ranks), optimizer, where);
  impl_->group.barrier({.name = "checkpoint read"}, where);
  return notes;
}

Notes DataParallel::load_file(const std::string& path, optim::Optimizer& optimizer,
                              const Where& where) {
  ReadShard file = read_shard(path, where);
  auto refuse = [&](const std::string& text) {
    throw_error("load_sharded", path + ": " + text, where);
  };
  if (file.metadata[kOptimizerKey] != optimizer.name()) {
    refuse("its optimizer is '" + file.metadata[kOptimizerKey] + "', not '" + optimizer.name() +
           "'");
  }
  check_metadata(file.metadata, where);
  nn::NamedTensors targets;
  for (const auto& [name, t] : impl_->net.named_parameters())
    targets.emplace_back(kParameter + name, t);
  for (const auto& [name, t] : impl_->net.named_buffers())
    targets.emplace_back(kBufferPrefix + name, t);
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const auto& [name, to] : targets) {
    const auto it = std::find_if(file.tensors.begin(), file.tensors.end(),
                                 [&](const auto& saved) { return saved.first == name; });
    if (it == file.tensors.end() || !(it->second.raw_shape() == to.raw_shape()) ||
        it->second.dtype() != to.dtype()) {
      refuse("it is of another net: '" + name + "'");
    }
    copies.emplace_back(to, it->second);
  }
  optim::OptimizerState state;
  state.settings = file.metadata[kSettingsKey];
  Tensor generator;
  for (const auto& [name, t] : file.tensors) {
    if (name.rfind(kOptimizerPrefix, 0) == 0)
      state.tensors.emplace_back(name.substr(std::string(kOptimizerPrefix).size()), t);
    if (name == kGeneratorName) generator = t;
  }
  NoGrad guard;
  optimizer.load_state_dict(state, where);
  for (const auto& [to, from] : copies) to.detach().copy_(from, where);
  if (generator.defined()) default_generator().set_state(generator, where);
  return notes_of(file.metadata);
}

}  // namespace wick::distributed
