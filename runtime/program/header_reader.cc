// Reads a file's header and digest and derives the budgets from its size.
#include <algorithm>

#include "runtime/program/reader.h"

namespace wick {

Status ProgramReader::check_header(uint64_t file_bytes) {
  const FileHeader& h = header_;
  if (memcmp(h.magic, kFileMagic, sizeof(kFileMagic)) != 0) {
    return Status(Code::kInvalidProgram,
                  "not a .wick file: the first 8 bytes are not its signature (`wick convert` makes "
                  "one of an ONNX or TensorFlow Lite model)");
  }
  if (h.version == 0 || h.version > kNewestVersion) {
    return error(Code::kUnsupported, "the file has format version %u, this build reads up to %u",
                 h.version, kNewestVersion);
  }
  if (uint64_t unknown = h.required_features & ~kKnownFeatures; unknown != 0) {
    return error(Code::kUnsupported, "the file needs features this build lacks (mask 0x%llx)",
                 static_cast<unsigned long long>(unknown));
  }
  if (WICK_EDITION_1 == 0 && edition_of(h.required_features) == Edition::k1) {
    return Status(Code::kUnsupported,
                  "the file's functions are those of edition 1, which this build leaves out");
  }
  if (h.file_bytes != file_bytes) {
    return error(
        Code::kInvalidProgram, "the file has %llu bytes, its header says %llu: cut or mixed up",
        static_cast<unsigned long long>(file_bytes), static_cast<unsigned long long>(h.file_bytes));
  }
  auto inside = [&](uint64_t offset, uint64_t size) {
    return offset <= h.file_bytes && size <= h.file_bytes - offset &&
           offset % kSegmentAlignment == 0;
  };
  constexpr uint64_t kPlaces[] = {sizeof(FileHeader), sizeof(FileHeader) + sizeof(FileDigest)};
  if (h.header_bytes != sizeof(FileHeader) ||
      (h.table_offset != kPlaces[0] && h.table_offset != kPlaces[1]) ||
      !inside(h.table_offset, h.table_bytes) || h.table_bytes < 16 ||
      h.table_bytes >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return Status(Code::kInvalidProgram, "the header's place of the table is not sound");
  }
  if (((h.required_features & kFeatureLent) != 0) != !options_.lent.empty()) {
    return Status(Code::kInvalidProgram,
                  options_.lent.empty() ? "its weights are not in the file, and nobody lent them"
                                        : "weights are lent to a file that has its own");
  }
  if (h.segments_bytes != 0 && (!inside(h.segments_offset, h.segments_bytes) ||
                                h.segments_offset < h.table_offset + h.table_bytes)) {
    return Status(Code::kInvalidProgram, "the header's place of the segments is not sound");
  }
  return {};
}

Status ProgramReader::read_digest(Span<const uint8_t> head) {
  if (header_.table_offset == sizeof(FileHeader)) return {};
  FileDigest digest;
  memcpy(&digest, head.data() + sizeof(FileHeader), sizeof(digest));
  if (memcmp(digest.magic, kDigestMagic, sizeof(kDigestMagic)) != 0 ||
      std::any_of(digest.reserved, std::end(digest.reserved), [](uint8_t b) { return b != 0; }))
    return Status(Code::kInvalidProgram, "between the header and the table there is no digest");
  memcpy(p_.digest_, digest.sha256, sizeof(p_.digest_));
  p_.has_digest_ = true;
  return {};
}

Status ProgramReader::read_head(Span<const uint8_t> head, uint64_t file_bytes) {
  if (head.size() < sizeof(FileHeader)) {
    return error(Code::kInvalidProgram, "not a .wick file: %zu bytes, the header alone has 64",
                 head.size());
  }
  memcpy(&header_, head.data(), sizeof(header_));
  WICK_TRY(check_header(file_bytes));
  WICK_TRY(read_digest(head));
  p_.file_bytes_ = file_bytes;
  p_.features_ = header_.required_features;
  uint64_t lent = 0;
  for (const LentSegment& segment : options_.lent) lent += segment.bytes.size();
  own_ledger_ = Ledger({.visits = kVisitsPerByte * (file_bytes + lent)});
  uint64_t most = options_.max_ram;
  if (most == 0)
    most = 16 * header_.table_bytes + 2 * (header_.segments_bytes + lent) + (uint64_t{1} << 20);
  p_.arena_.set_limit(most < SIZE_MAX ? static_cast<size_t>(most) : SIZE_MAX);
  return {};
}

// Hashes the bytes that were read and not the file again, so that the checked bytes are those used.
Status ProgramReader::check_file_digest(const FileBytes& bytes) {
  const uint64_t table_end = header_.table_offset + header_.table_bytes;
  Sha256 sha;
  sha.update({bytes.head, kDigestAt});
  sha.update({bytes.head + kDigestAt + kDigestBytes,
              static_cast<size_t>(header_.table_offset - kDigestAt - kDigestBytes)});
  sha.update({bytes.table, static_cast<size_t>(header_.table_bytes)});
  if (table_end < header_.file_bytes) {
    sha.update({bytes.rest + (table_end - bytes.rest_at),
                static_cast<size_t>(header_.file_bytes - table_end)});
  }
  uint8_t digest[kDigestBytes];
  sha.finish(digest);
  if (memcmp(digest, p_.digest_, sizeof(digest)) == 0) return {};
  return Status(
      Code::kInvalidProgram,
      "its bytes do not have the sha256 that it says: it is damaged, make or fetch it anew");
}

}  // namespace wick
