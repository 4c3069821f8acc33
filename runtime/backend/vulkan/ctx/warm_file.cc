#include "runtime/backend/vulkan/ctx/warm_file.h"

#include <cstring>

#include "runtime/core/atomic_file.h"
#include "runtime/core/sha256.h"

namespace wick::vulkan {
namespace {

constexpr char kMagic[8] = {'W', 'i', 'c', 'k', 'W', 'a', 'r', 'm'};
constexpr uint32_t kVersion = 1;

// The head of the file, little-endian like its parts; the verdicts follow, then the pipelines.
struct Head {
  char magic[8];
  uint32_t version, reserved;
  uint64_t verdict_bytes, pipeline_bytes;
  char driver[kDriverKeyBytes];
  uint8_t digest[32];  // SHA-256 of the head up to here and of the parts
};
static_assert(sizeof(Head) == 96, "the head has no gaps");

void digest_of(const Head& head, const WarmParts& parts, uint8_t* digest) {
  Sha256 sha;
  sha.update({reinterpret_cast<const uint8_t*>(&head), offsetof(Head, digest)});
  sha.update(parts.verdicts);
  sha.update(parts.pipelines);
  sha.finish(digest);
}

}  // namespace

Status read_warm(Span<const uint8_t> file, const char* driver, WarmParts* parts) {
  Head head;
  if (file.size() < sizeof(head) || memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    return Status(Code::kInvalidProgram, "it is no cache of a model's kernels");
  memcpy(&head, file.data(), sizeof(head));
  if (head.version != kVersion) {
    return error(Code::kUnsupported, "it has version %u, this build reads %u", head.version,
                 kVersion);
  }
  const uint64_t rest = file.size() - sizeof(head);
  if (head.verdict_bytes > rest || head.pipeline_bytes != rest - head.verdict_bytes)
    return Status(Code::kInvalidProgram, "its sizes are not those of the file");
  const auto verdicts = static_cast<size_t>(head.verdict_bytes);
  const WarmParts found = {file.subspan(sizeof(head), verdicts),
                           file.subspan(sizeof(head) + verdicts)};
  uint8_t digest[sizeof(head.digest)];
  digest_of(head, found, digest);
  if (memcmp(digest, head.digest, sizeof(digest)) != 0)
    return Status(Code::kInvalidProgram, "it is damaged: its digest is another one");
  if (memcmp(head.driver, driver, sizeof(head.driver)) != 0) {
    return Status(Code::kUnsupported,
                  "it was made for another device, driver or version of Wick; make it anew with "
                  "`wick devices --warm`");
  }
  *parts = found;
  return {};
}

Status write_warm(const char* path, const char* driver, const WarmParts& parts) {
  const uint64_t bytes =
      sizeof(Head) + uint64_t{parts.verdicts.size()} + uint64_t{parts.pipelines.size()};
  if (bytes > kWarmBytes) {
    return error(Code::kBudgetExceeded,
                 "a cache of %llu bytes is not written: of such a file %llu are read; make one for "
                 "fewer sizes",
                 static_cast<unsigned long long>(bytes),
                 static_cast<unsigned long long>(kWarmBytes));
  }
  Head head = {};
  memcpy(head.magic, kMagic, sizeof(kMagic));
  head.version = kVersion;
  head.verdict_bytes = parts.verdicts.size();
  head.pipeline_bytes = parts.pipelines.size();
  memcpy(head.driver, driver, sizeof(head.driver));
  digest_of(head, parts, head.digest);
  AtomicFile file;
  WICK_TRY(file.open(path));
  WICK_TRY(file.write(&head, sizeof(head)));
  WICK_TRY(file.write(parts.verdicts.data(), parts.verdicts.size()));
  WICK_TRY(file.write(parts.pipelines.data(), parts.pipelines.size()));
  return file.commit();
}

}  // namespace wick::vulkan
