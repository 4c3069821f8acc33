#include "trainer/distributed/parallel/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/core/sha256.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/distributed/split/split_layers.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigestChars = 64;  // a SHA-256 as text

nn::NamedTensors copies_of(const nn::NamedTensors& tensors) {
  NoGrad guard;
  nn::NamedTensors copies;
  for (const auto& [name, t] : tensors) copies.emplace_back(name, t.detach().clone());
  return copies;
}

// Of the tensors, and of the metadata: the step of a note is not to change unseen either.
std::string digest_of(nn::NamedTensors tensors, std::map<std::string, std::string> metadata) {
  metadata.erase(kDigestKey);
  metadata.erase(kSaveKey);  // is made of all files' digests
  std::string text;
  for (const auto& [key, value] : metadata)
    text += std::to_string(key.size()) + " " + key + std::to_string(value.size()) + " " + value;
  const Tensor bytes = new_tensor(Shape{static_cast<int64_t>(text.size())}, DType::kU8);
  memcpy(bytes.raw().data, text.data(), text.size());
  tensors.emplace_back("metadata", bytes);
  return state_sha256(tensors);
}

// "run" of "run/", and the target of a link: FOLDER.new and FOLDER.old are beside it, on its disk.
std::string real_folder(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code failed;
  if (!fs::is_symlink(folder, failed)) return folder;
  const fs::path target = fs::canonical(folder, failed);
  return failed ? folder : target.string();
}

// The numbers of ranks of which the folder has a first file, ascending.
std::set<int> saves_in(const std::string& folder) {
  std::set<int> saves;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string(), start = "shard-0-of-";
    if (name.rfind(start, 0) != 0) continue;
    const int ranks = atoi(name.c_str() + start.size());
    if (ranks > 0 && name == shard_file(0, ranks)) saves.insert(ranks);
  }
  return saves;
}

// Returns the folder to read and the saves in it; an empty name: there is none.
std::pair<std::string, std::set<int>> find_checkpoint(const std::string& folder) {
  const std::string name = real_folder(folder);
  for (const std::string& place : {name, name + ".old"}) {
    if (std::set<int> saves = saves_in(place); !saves.empty()) return {place, std::move(saves)};
  }
  return {};
}

// Throws Error where the place has anything that no save has written: this save would remove it.
void check_replaceable(const std::string& place) {
  if (!fs::exists(fs::symlink_status(place))) return;
  const std::string why = ", and a save replaces all of it: give it a folder of its own";
  if (!fs::is_directory(place)) throw Error(place + " is not a folder" + why);
  for (const auto& file : fs::directory_iterator(place)) {
    const std::string name = file.path().filename().string();
    if (name.rfind("shard-", 0) == 0 && name.find("-of-") != std::string::npos) continue;
    if (name.rfind(".nfs", 0) == 0) continue;  // a shard that was removed while a rank read it
    throw Error(place + " has '" + name + "', which is no shard of a checkpoint" + why);
  }
}

void make_fresh(const std::string& folder, const std::string& fresh, const std::string& old) {
  const std::string name = fs::path(folder).filename().string();
  if (name.empty() || name == "." || name == "..")
    throw Error("'" + folder + "' is no name of a folder that can be replaced");
  for (const std::string& place : {folder, fresh, old}) check_replaceable(place);
  std::error_code failed;
  fs::remove_all(fresh, failed);
  if (!failed) fs::create_directories(fresh, failed);
  if (failed) throw Error("cannot make " + fresh + ": " + failed.message());
}

// At any time one of the places has a whole checkpoint, if there was one before: a save that was
// interrupted between the renames has left `old` as the only one.
void put_in_place(const std::string& folder, const std::string& fresh, const std::string& old) {
  std::error_code failed;
  if (!saves_in(folder).empty()) {
    fs::remove_all(old, failed);
    if (!failed) fs::rename(folder, old, failed);
  } else {
    fs::remove_all(folder, failed);
  }
  if (!failed) fs::rename(fresh, folder, failed);
  if (failed) throw Error("cannot replace " + folder + ": " + failed.message());
  fs::remove_all(old, failed);
}

}  // namespace

std::string shard_file(int rank, int ranks) {
  return "shard-" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".safetensors";
}

std::string save_of(const std::vector<std::string>& digests) {
  Sha256 sha;
  for (const std::string& digest : digests)
    sha.update({reinterpret_cast<const uint8_t*>(digest.data()), digest.size()});
  return sha.finish_text().text;
}

std::string save_of(Group& group, const std::string& digest, const Where& where) {
  const Tensor mine = zeros({static_cast<int64_t>(kDigestChars)}, DType::kU8);
  memcpy(mine.raw().data, digest.data(), std::min(digest.size(), kDigestChars));
  const Tensor all = group.all_gather(mine, {.name = "digests of a checkpoint"}, where);
  std::vector<std::string> digests;
  for (int r = 0; r < group.size(); ++r) {
    const char* text =
        static_cast<const char*>(all.raw().data) + static_cast<size_t>(r) * kDigestChars;
    if (*text != '\0') digests.emplace_back(text, kDigestChars);
  }
  return save_of(digests);
}

void check_save(const std::string& named, const std::string& save, const std::string& place,
                const Where& where) {
  if (named.empty() || named == save) return;  // older checkpoints name none
  throw_error("load_sharded",
              place +
                  ": its files are not those of one save, in its order: some were renamed, or "
                  "are of another checkpoint",
              where);
}

void refuse_split(nn::Module& net, const char* op, const Where& where) {
  if (!split_over_ranks(net)) return;
  throw_error(op,
              "the net has layers that are split over ranks, which would all write the same files: "
              "Pipeline::save() has a file for each of them (one stage will do), and "
              "TensorParallel::state_dict() gives the whole net",
              where, Code::kUnsupported);
}

bool has_checkpoint(const std::string& folder) { return !find_checkpoint(folder).second.empty(); }

ReadShard read_shard(const std::string& path, const Where& where) {
  Safetensors file = load_safetensors(path);
  const std::string digest = file.metadata[kDigestKey];
  // Checkpoints of before have that of the tensors alone.
  if (digest != digest_of(file.tensors, file.metadata) && digest != state_sha256(file.tensors)) {
    throw_error("load_sharded",
                path + ": its tensors or notes are not those that were saved (SHA-256)", where);
  }
  return {std::move(file.tensors), std::move(file.metadata)};
}

void write_checkpoint(Group& group, const std::string& to, Snapshot snapshot,
                      const std::function<void(const std::string&)>& fail, const Where& where) {
  const std::string folder = real_folder(to), fresh = folder + ".new", old = folder + ".old";
  // What this rank alone cannot do, memory that it has not included, is told to all: they would
  // wait for it.
  auto alone = [&](const auto& work) {
    std::string failure;
    try {
      work();
    } catch (const std::exception& e) {
      failure = e.what();
      if (failure.empty()) failure = "an error without a text";
    }
    if (!failure.empty()) fail(failure);
  };
  const bool first = group.rank() == 0;
  if (first) alone([&] { make_fresh(folder, fresh, old); });
  std::string digest;
  if (!snapshot.tensors.empty())
    alone([&] { digest = digest_of(snapshot.tensors, snapshot.metadata); });
  // Behind this call the folder is there.
  const std::string save = save_of(group, digest, where);
  if (!snapshot.tensors.empty()) {
    // Ranks that share no folder, or have a full disk, say so before the last one is replaced.
    alone([&] {
      snapshot.metadata[kDigestKey] = digest;
      snapshot.metadata[kSaveKey] = save;
      save_safetensors(fresh + "/" + snapshot.file, snapshot.tensors, snapshot.metadata);
    });
  }
  group.barrier({.name = "checkpoint written"}, where);
  if (first) alone([&] { put_in_place(folder, fresh, old); });
  group.barrier({.name = "checkpoint in place"}, where);
}

struct Saving::State {
  std::thread thread;
  std::exception_ptr error;
  bool told = false;
  ~State() {
    finish();
    if (!error || told) return;
    // Nobody asked: without a word a program would end well that has no checkpoint.
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      fprintf(stderr, "%s\n", e.what());
      fflush(stderr);
    } catch (...) {
    }
  }
  void finish() {
    if (thread.joinable()) thread.join();
  }
};

void Saving::wait() {
  if (state_ == nullptr) return;
  state_->finish();
  state_->told = true;
  if (state_->error) std::rethrow_exception(state_->error);
}

void Saving::settle() {
  if (state_ != nullptr && !state_->told) wait();
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
    s.tensors.emplace_back(kParameterPrefix + name, t);
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
  refuse_split(m.net, "save_sharded", where);
  std::exchange(m.saving, {}).settle();  // where that one failed, the next may not
  if (!m.checkpoints) m.checkpoints = m.group.split(0, m.group.rank(), "checkpoints", where);
  Snapshot s = snapshot(optimizer);
  s.tensors = copies_of(s.tensors);
  for (const auto& [name, text] : notes) s.metadata[kNotePrefix + name] = text;
  auto state = std::make_shared<Saving::State>();
  try {
    state->thread = std::thread([state = state.get(), group = *m.checkpoints, folder,
                                 s = std::move(s), where, ranks = m.group.size()]() mutable {
      auto fail = [&](const std::string& text) {
        if (ranks == 1) throw_error("save_sharded", text, where);
        group.fail("[save_sharded] " + text, where);
      };
      const WaitsBeside beside;
      try {
        write_checkpoint(group, folder, std::move(s), fail, where);
      } catch (...) {
        state->error = std::current_exception();
      }
    });
  } catch (const std::system_error& e) {  // the other ranks would wait for this one
    const std::string text = std::string("no thread could be started that writes (") + e.what() +
                             "): raise the limit of threads";
    if (m.group.size() == 1) throw_error("save_sharded", text, where);
    m.group.fail("[save_sharded] " + text, where);
  }
  m.saving.state_ = std::move(state);
  return m.saving;
}

void DataParallel::save(const std::string& folder, const optim::Optimizer& optimizer,
                        const Notes& notes, Where where) {
  save_async(folder, optimizer, notes, where).wait();
}

std::string DataParallel::checkpoint_folder(const std::string& folder, int* ranks,
                                            const Where& where) {
  if (impl_->open) throw_error("load_sharded", "within a batch: call finish() first", where);
  std::exchange(impl_->saving, {}).settle();
  const auto [place, saves] = find_checkpoint(folder);
  if (saves.empty())
    throw_error("load_sharded", "no shard-0-of-N.safetensors in " + folder, where, Code::kNotFound);
  if (saves.size() > 1) {
    throw_error("load_sharded",
                place + " has files of several checkpoints, " + shard_file(0, *saves.begin()) +
                    " and " + shard_file(0, *saves.rbegin()) + ": take one away",
                where);
  }
  *ranks = *saves.begin();
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
  refuse_split(impl_->net, "load_sharded", where);
  int ranks = 0;
  const std::string place = checkpoint_folder(folder, &ranks, where);
  const Notes notes = load_file(place + "/" + shard_file(0, ranks), optimizer, nullptr, where);
  impl_->group.barrier({.name = "checkpoint read"}, where);
  return notes;
}

Notes DataParallel::load_file(const std::string& path, optim::Optimizer& optimizer, Group* readers,
                              const Where& where) {
  ReadShard file = read_shard(path, where);
  if (readers != nullptr) {
    const bool first = impl_->group.rank() == 0;  // its file counts once
    const std::string save = save_of(*readers, first ? file.metadata[kDigestKey] : "", where);
    check_save(file.metadata[kSaveKey], save, fs::path(path).parent_path().string(), where);
  }
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
    targets.emplace_back(kParameterPrefix + name, t);
  for (const auto& [name, t] : impl_->net.named_buffers())
    targets.emplace_back(kBufferPrefix + name, t);
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const auto& [name, to] : targets) {
    const auto it = std::find_if(file.tensors.begin(), file.tensors.end(),
                                 [&](const auto& saved) { return saved.first == name; });
    if (it == file.tensors.end()) refuse("it is of another net: it lacks '" + name + "'");
    const Tensor& from = it->second;
    if (from.dtype() != to.dtype() || !(from.raw_shape() == to.raw_shape())) {
      refuse("it is of another net: its '" + name + "' is " + dtype_name(from.dtype()) +
             to_text(from.raw_shape()).text + ", the net's " + dtype_name(to.dtype()) +
             to_text(to.raw_shape()).text);
    }
    copies.emplace_back(to, from);
  }
  optim::OptimizerState state;
  state.settings = file.metadata[kSettingsKey];
  Tensor generator;
  for (const auto& [name, t] : file.tensors) {
    if (name.rfind(kOptimizerPrefix, 0) == 0)
      state.tensors.emplace_back(name.substr(std::string(kOptimizerPrefix).size()), t);
    if (name == kGeneratorName) generator = t;
  }
  if (generator.defined()) Generator().set_state(generator, where);  // throws if it is none
  NoGrad guard;
  optimizer.load_state_dict(state, where);
  for (const auto& [to, from] : copies) to.detach().copy_(from, where);
  if (generator.defined()) default_generator().set_state(generator, where);
  return notes_of(file.metadata);
}

}  // namespace wick::distributed
