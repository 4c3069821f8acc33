// Checkpoints of FullyShard: a file for each rank that wrote, read by any number of ranks.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "trainer/checkpoint/safetensors.h"
#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/distributed/parallel/fully_shard.h"
#include "trainer/distributed/parallel/param_units.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

constexpr const char* kSave = "save_sharded";
constexpr const char* kLoad = "load_sharded";
constexpr const char* kSegment = "segment.";
constexpr const char* kOptimizer = "optimizer.";
constexpr const char* kBuffer = "buffer.";
constexpr const char* kGenerator = "generator";

std::string file_of(const std::string& folder, int rank, int ranks) {
  return folder + "/shard-" + std::to_string(rank) + "-of-" + std::to_string(ranks) +
         ".safetensors";
}

// The folder to read, and by how many ranks it was written.
std::pair<std::string, int> find_checkpoint(const std::string& folder, const Where& where) {
  for (const std::string& place : {folder, folder + ".old"}) {
    std::error_code failed;
    for (const auto& file : std::filesystem::directory_iterator(place, failed)) {
      const std::string name = file.path().filename().string(), start = "shard-0-of-";
      if (name.rfind(start, 0) != 0) continue;
      const int ranks = atoi(name.c_str() + start.size());
      if (ranks > 0) return {place, ranks};
    }
  }
  throw_error(kLoad, "no shard-0-of-N.safetensors in " + folder, where, Code::kNotFound);
}

// What a checkpoint puts together: whole buckets, and whole states of them.
struct Whole {
  nn::NamedTensors tensors;  // by name in the files; of segments: all elements of the bucket
  std::map<std::string, std::string> metadata;  // of rank 0
};

}  // namespace

void FullyShard::save(const std::string& folder, const optim::Optimizer& optimizer, Where where) {
  Impl& m = *impl_;
  if (m.open) throw_error(kSave, "within a batch: call finish() first", where);
  const int rank = m.group.rank(), ranks = m.group.size();
  const optim::OptimizerState state = optimizer.state_dict();
  nn::NamedTensors tensors;
  for (size_t b = 0; b < m.segments.size(); ++b)
    tensors.emplace_back(kSegment + std::to_string(b), m.segments[b].detach());
  for (const auto& [name, t] : state.tensors) tensors.emplace_back(kOptimizer + name, t);
  if (rank == 0) {
    for (const auto& [name, t] : m.net.named_buffers()) tensors.emplace_back(kBuffer + name, t);
    tensors.emplace_back(kGenerator, default_generator().get_state());
  }
  std::map<std::string, std::string> metadata = this->metadata();
  metadata["wick.layout"] = m.buckets->layout();
  metadata["wick.optimizer"] = optimizer.name();
  metadata["wick.settings"] = state.settings;
  metadata["wick.sha256"] = state_sha256(tensors);

  const std::string fresh = folder + ".new", old = folder + ".old";
  namespace fs = std::filesystem;
  std::string failure;
  if (rank == 0) {
    std::error_code failed;
    fs::remove_all(fresh, failed);
    fs::create_directories(fresh, failed);
    if (failed) failure = "cannot make " + fresh + ": " + failed.message();
  }
  m.group.barrier({.name = "checkpoint folder"}, where);
  if (failure.empty()) {
    try {
      save_safetensors(file_of(fresh, rank, ranks), tensors, metadata);
    } catch (const Error& e) {
      failure = e.what();
    }
  }
  // Ranks that share no folder, or have a full disk, say so before the last checkpoint is replaced.
  if (!failure.empty()) m.fail(failure, where);
  m.group.barrier({.name = "checkpoint written"}, where);
  if (rank == 0) {
    std::error_code failed;
    fs::remove_all(old, failed);
    if (fs::exists(folder)) fs::rename(folder, old, failed);
    if (!failed) fs::rename(fresh, folder, failed);
    if (failed) failure = "cannot replace " + folder + ": " + failed.message();
    if (failure.empty()) fs::remove_all(old, failed);
  }
  if (!failure.empty()) m.fail(failure, where);
  m.group.barrier({.name = "checkpoint in place"}, where);
}

void FullyShard::load(const std::string& folder, optim::Optimizer& optimizer, Where where) {
  Impl& m = *impl_;
  if (m.open) throw_error(kLoad, "within a batch: call finish() first", where);
  const auto [place, ranks] = find_checkpoint(folder, where);
  Whole whole;
  std::map<std::string, size_t> at;
  // The bucket that a tensor of a file is a part of; -1: none, as it is whole.
  auto bucket_of = [&](const std::string& name) -> int64_t {
    const bool segment = name.rfind(kSegment, 0) == 0;
    const std::string start = segment ? kSegment : std::string(kOptimizer) + "state.";
    if (name.rfind(start, 0) != 0) return -1;
    return atoll(name.c_str() + start.size());
  };
  for (int r = 0; r < ranks; ++r) {
    const std::string path = file_of(place, r, ranks);
    Safetensors file = load_safetensors(path);
    auto refuse = [&](const std::string& text) { throw_error(kLoad, path + ": " + text, where); };
    if (file.metadata["wick.sha256"] != state_sha256(file.tensors))
      refuse("its tensors are not those that were saved (SHA-256)");
    if (file.metadata["wick.layout"] != m.buckets->layout())
      refuse("it is of another net, or was saved with another bucket_bytes");
    if (file.metadata["wick.optimizer"] != optimizer.name())
      refuse("its optimizer is '" + file.metadata["wick.optimizer"] + "', not '" +
             optimizer.name() + "'");
    check_metadata(file.metadata, where);
    if (r == 0) whole.metadata = file.metadata;
    for (auto& [name, t] : file.tensors) {
      const int64_t b = bucket_of(name);
      if (b < 0 || b >= static_cast<int64_t>(m.buckets->count())) {
        if (r == 0) whole.tensors.emplace_back(name, t);
        continue;
      }
      const int64_t n = m.buckets->elements(static_cast<size_t>(b));
      const Segment part = segment_of(r, ranks, n);
      if (t.layout().numel() != part.count()) {
        if (r == 0) whole.tensors.emplace_back(name, t);  // a state of one number, say
        continue;
      }
      if (at.count(name) == 0) {
        at[name] = whole.tensors.size();
        whole.tensors.emplace_back(name, new_tensor(Shape{n}, t.dtype(), where));
      }
      const auto size = static_cast<int64_t>(dtype_size(t.dtype()));
      memcpy(static_cast<std::byte*>(whole.tensors[at[name]].second.raw().data) + part.begin * size,
             t.raw().data, t.nbytes());
    }
  }
  // Everything is there and fits: now it is taken.
  NoGrad guard;
  optim::OptimizerState state;
  state.settings = whole.metadata["wick.settings"];
  nn::NamedTensors buffers = m.net.named_buffers();
  std::vector<std::pair<Tensor, Tensor>> copies;
  Tensor generator;
  for (auto& [name, t] : whole.tensors) {
    const int64_t b = bucket_of(name);
    Tensor mine = t;
    if (at.count(name) != 0) {
      const Segment own =
          segment_of(m.group.rank(), m.group.size(), m.buckets->elements(static_cast<size_t>(b)));
      mine = t.narrow(0, own.begin, own.count()).clone();
    }
    if (name.rfind(kSegment, 0) == 0) {
      copies.emplace_back(m.segments[static_cast<size_t>(b)], mine);
    } else if (name.rfind(kOptimizer, 0) == 0) {
      state.tensors.emplace_back(name.substr(strlen(kOptimizer)), mine);
    } else if (name == kGenerator) {
      generator = t;
    } else {
      const auto it = std::find_if(buffers.begin(), buffers.end(), [&](const auto& buffer) {
        return kBuffer + buffer.first == name;
      });
      if (it != buffers.end()) copies.emplace_back(it->second, t);
    }
  }
  optimizer.load_state_dict(state, where);
  for (const auto& [to, from] : copies) to.detach().copy_(from, where);
  if (generator.defined()) default_generator().set_state(generator, where);
  if (units_ != nullptr) return units_->begin(1);
  gather(where);
}

}  // namespace wick::distributed
