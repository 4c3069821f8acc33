// Checkpoints of FullyShard: a file for each rank that wrote, read by any number of ranks.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "trainer/checkpoint/json.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/distributed/parallel/fully_shard.h"
#include "trainer/distributed/parallel/param_units.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

constexpr const char* kLoad = "load_sharded";
constexpr const char* kSegment = "segment.";
constexpr const char* kLayoutKey = "wick.layout";

// What a checkpoint puts together: whole buckets, and whole states of them.
struct Whole {
  nn::NamedTensors tensors;  // by name in the files; of segments: all elements of the bucket
  std::map<std::string, std::string> metadata;  // of rank 0
};

// What no segment has: buffers, and the parameters that are not trained.
nn::NamedTensors whole_tensors(nn::Module& net, const nn::NamedTensors& trained) {
  std::set<uint64_t> ids;
  for (const auto& [name, p] : trained) ids.insert(p.id());
  nn::NamedTensors list;
  for (const auto& [name, p] : net.named_parameters()) {
    if (ids.count(p.id()) == 0) list.emplace_back(kParameterPrefix + name, p);
  }
  for (const auto& [name, t] : net.named_buffers()) list.emplace_back(kBufferPrefix + name, t);
  return list;
}

}  // namespace

Snapshot FullyShard::snapshot(const optim::Optimizer& optimizer) {
  Impl& m = *impl_;
  take_over_written(Where::current());
  Snapshot s;
  s.file = shard_file(m.group.rank(), m.group.size());
  const optim::OptimizerState state = optimizer.state_dict();
  for (size_t b = 0; b < m.segments.size(); ++b)
    s.tensors.emplace_back(kSegment + std::to_string(b), m.segments[b]);
  for (const auto& [name, t] : state.tensors) s.tensors.emplace_back(kOptimizerPrefix + name, t);
  if (m.group.rank() == 0) {
    for (const auto& [name, t] : whole_tensors(m.net, m.parameters))
      s.tensors.emplace_back(name, t);
    s.tensors.emplace_back(kGeneratorName, default_generator().get_state());
  }
  s.metadata = metadata();
  s.metadata[kLayoutKey] = m.buckets->layout();
  s.metadata[kOptimizerKey] = optimizer.name();
  s.metadata[kSettingsKey] = state.settings;
  return s;
}

Notes FullyShard::load(const std::string& folder, optim::Optimizer& optimizer, Where where) {
  Impl& m = *impl_;
  refuse_split(m.net, kLoad, where);
  int ranks = 0;
  const std::string place = checkpoint_folder(folder, &ranks, where);
  Whole whole;
  std::map<std::string, size_t> at;
  std::map<std::string, int64_t> found;  // elements, of those in `at`
  // The bucket that a tensor of a file is a part of; -1: none, as it is whole.
  auto bucket_of = [&](const std::string& name) -> int64_t {
    const bool segment = name.rfind(kSegment, 0) == 0;
    const std::string start = segment ? kSegment : std::string(kOptimizerPrefix) + "state.";
    if (name.rfind(start, 0) != 0) return -1;
    return atoll(name.c_str() + start.size());
  };
  std::vector<std::string> digests, saves;  // by file
  for (int r = 0; r < ranks; ++r) {
    const std::string path = place + "/" + shard_file(r, ranks);
    ReadShard file = read_shard(path, where);
    auto refuse = [&](const std::string& text) { throw_error(kLoad, path + ": " + text, where); };
    if (file.metadata[kLayoutKey] != m.buckets->layout())
      refuse("it is of another net, or was saved with another bucket_bytes");
    if (file.metadata[kOptimizerKey] != optimizer.name())
      refuse("its optimizer is '" + file.metadata[kOptimizerKey] + "', not '" + optimizer.name() +
             "'");
    check_metadata(file.metadata, where);
    if (r == 0) whole.metadata = file.metadata;
    digests.push_back(file.metadata[kDigestKey]);
    saves.push_back(file.metadata[kSaveKey]);
    for (auto& [name, t] : file.tensors) {
      const int64_t b = bucket_of(name);
      const bool known = b >= 0 && b < static_cast<int64_t>(m.buckets->count());
      if (name.rfind(kSegment, 0) == 0 &&
          (!known || name != kSegment + std::to_string(b) ||
           t.dtype() != m.segments[static_cast<size_t>(b)].dtype())) {
        refuse(std::string("it is of another net: it has a ") + dtype_name(t.dtype()) + " '" +
               shortened(name) + "'");
      }
      if (!known) {
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
      const Tensor& to = whole.tensors[at[name]].second;
      if (t.dtype() != to.dtype())
        refuse("its '" + shortened(name) + "' is " + dtype_name(t.dtype()) +
               ", that of the files before it " + dtype_name(to.dtype()));
      const auto size = static_cast<int64_t>(dtype_size(t.dtype()));
      memcpy(static_cast<std::byte*>(to.raw().data) + part.begin * size, t.raw().data, t.nbytes());
      found[name] += part.count();
    }
  }
  for (const std::string& named : saves) check_save(named, save_of(digests), place, where);
  auto refuse_all = [&](const std::string& text) {
    throw_error(kLoad, place + ": " + text, where);
  };
  for (size_t b = 0; b < m.buckets->count(); ++b) at.emplace(kSegment + std::to_string(b), 0);
  for (const auto& [name, index] : at) {
    if (found[name] != m.buckets->elements(static_cast<size_t>(bucket_of(name))))
      refuse_all("it lacks a part of '" + name + "'");
  }
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const auto& [name, to] : whole_tensors(m.net, m.parameters)) {
    const auto it = std::find_if(whole.tensors.begin(), whole.tensors.end(),
                                 [&](const auto& saved) { return saved.first == name; });
    if (it == whole.tensors.end()) refuse_all("it lacks '" + name + "', which the net has");
    const Tensor& from = it->second;
    if (from.dtype() != to.dtype() || !(from.raw_shape() == to.raw_shape())) {
      refuse_all("it is of another net: its '" + name + "' is " + dtype_name(from.dtype()) +
                 to_text(from.raw_shape()).text + ", the net's " + dtype_name(to.dtype()) +
                 to_text(to.raw_shape()).text);
    }
    copies.emplace_back(to, from);
  }
  // Everything is there and fits: now it is taken.
  NoGrad guard;
  optim::OptimizerState state;
  state.settings = whole.metadata[kSettingsKey];
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
    } else if (name.rfind(kOptimizerPrefix, 0) == 0) {
      state.tensors.emplace_back(name.substr(strlen(kOptimizerPrefix)), mine);
    } else if (name == kGeneratorName) {
      generator = t;
    }
  }
  if (generator.defined()) Generator().set_state(generator, where);  // throws if it is none
  optimizer.load_state_dict(state, where);
  for (size_t b = 0; b < m.buckets->count(); ++b) m.buckets->mark(b);  // what the net has, goes
  for (const auto& [to, from] : copies) to.detach().copy_(from, where);
  if (generator.defined()) default_generator().set_state(generator, where);
  m.group.barrier({.name = "checkpoint read"}, where);
  if (units_ != nullptr) {
    units_->begin(1);
  } else {
    gather(where);
  }
  return notes_of(whole.metadata);
}

}  // namespace wick::distributed
