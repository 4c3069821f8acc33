// The files of a checkpoint. Internal to DataParallel and FullyShard.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trainer/distributed/group.h"
#include "trainer/nn/module.h"

namespace wick::distributed {

// What one rank writes; no file without tensors.
struct Snapshot {
  std::string file;  // its name within the folder
  nn::NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};
std::string shard_file(int rank, int ranks);
// Throws Error for a net that is split over ranks: ranks of the tensor axis have the same place
// among those that share a batch, and so the same file.
void refuse_split(nn::Module& net, const char* op, const Where& where);
// Writes the files and replaces the folder. fail() ends all ranks with a text.
void write_checkpoint(Group& group, const std::string& folder, Snapshot snapshot,
                      const std::function<void(const std::string&)>& fail, const Where& where);
// Reads a file; throws Error unless its tensors have the SHA-256 that it says.
struct ReadShard {
  nn::NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};
ReadShard read_shard(const std::string& path, const Where& where);
// What the files of one save have in common: a digest of their digests, in the files' order. The
// second one is called by all ranks of the group, with "" where a rank has no file of its own.
std::string save_of(const std::vector<std::string>& digests);
std::string save_of(Group& group, const std::string& digest, const Where& where);
// Throws Error unless the save that a file of the folder `place` names is this one.
void check_save(const std::string& named, const std::string& save, const std::string& place,
                const Where& where);

// Names in the files.
inline constexpr const char* kParameterPrefix = "parameter.";
inline constexpr const char* kOptimizerPrefix = "optimizer.";
inline constexpr const char* kBufferPrefix = "buffer.";
inline constexpr const char* kNotePrefix = "note.";
inline constexpr const char* kGeneratorName = "generator";
inline constexpr const char* kOptimizerKey = "wick.optimizer";
inline constexpr const char* kSettingsKey = "wick.settings";
inline constexpr const char* kDigestKey = "wick.sha256";
inline constexpr const char* kSaveKey = "wick.save";

}  // namespace wick::distributed
