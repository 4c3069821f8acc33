// The layout of a .wick file, shared by the writer and the loader. README.md in this folder has the
// rules.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "runtime/core/edition.h"

namespace wick {

static_assert(std::endian::native == std::endian::little,
              "a .wick file is read in place: little-endian only");

constexpr char kFileMagic[8] = {'W', 'I', 'C', 'K', 'P', 'R', 'G', '\n'};
constexpr uint32_t kFileVersion = 1;     // the table is read as it lies in the file
constexpr uint32_t kCompactVersion = 2;  // the table is compressed (CompactHead)
constexpr uint32_t kNewestVersion = kCompactVersion;
constexpr size_t kSegmentAlignment =
    64;  // of the segments' area, every segment and every buffer in it
constexpr uint32_t kNoIndex = 0xFFFFFFFF;  // absent input, no constant, no state

// Features that a reader must understand to run the file. A reader refuses a bit it does not know.
enum Feature : uint64_t {
  kFeatureRegions = 1 << 0,    // nested regions
  kFeatureState = 1 << 1,      // state buffers
  kFeatureNonTensor = 1 << 2,  // sequences, optionals, maps, strings
  kFeatureCustomOps = 1 << 3,
  kFeatureGrowing = 1 << 4,
  kFeatureLent = 1 << 5,  // the loader's caller holds the segments: never in a file
  // The f32 functions are those of the second edition (runtime/core/edition.h); without it they are
  // those of the first. The next edition will have a bit of its own.
  kFeatureEdition2 = 1 << 6,
};
constexpr uint64_t kKnownFeatures = kFeatureRegions | kFeatureState | kFeatureNonTensor |
                                    kFeatureCustomOps | kFeatureGrowing | kFeatureLent |
                                    kFeatureEdition2;

constexpr Edition edition_of(uint64_t features) {
  return (features & kFeatureEdition2) != 0 ? Edition::k2 : Edition::k1;
}
constexpr uint64_t edition_feature(Edition edition) {
  return edition == Edition::k1 ? 0 : uint64_t{kFeatureEdition2};
}

// The attribute field of a control node's k-th region is kRegionField + k.
constexpr uint16_t kRegionField = 0x8000;

// The file's first 64 bytes; the digest, the flatbuffer and the segments follow.
struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;       // 64
  uint64_t required_features;  // Feature bits: checked before anything else is read
  uint64_t table_offset;       // 64, or 128 where a FileDigest is before it
  uint64_t table_bytes;
  uint64_t segments_offset;  // a multiple of 64 after the table; == file_bytes when there are none
  uint64_t segments_bytes;
  uint64_t file_bytes;  // a longer or shorter file is damaged
};
static_assert(sizeof(FileHeader) == 64);

// Between the header and the table of files that are written since 2026; table_offset (64 or 128)
// tells whether it is present. Older readers skip it.
struct FileDigest {
  char magic[8];
  uint8_t sha256[32];    // of the whole file except these 32 bytes
  uint8_t reserved[24];  // zero
};
static_assert(sizeof(FileDigest) == 64);
constexpr char kDigestMagic[8] = {'W', 'I', 'C', 'K', 'S', 'U', 'M', '\n'};
constexpr uint64_t kDigestAt = sizeof(FileHeader) + offsetof(FileDigest, sha256);
constexpr uint64_t kDigestBytes = 32;

// A compact file has this where others have their table, an LZMA stream behind it (lzma.h), and
// zeros up to the end of what the header calls the table. The stream holds the table, zeros up to a
// multiple of kSegmentAlignment, and the bytes of segments that are marked `decoded`.
struct CompactHead {
  char magic[8];
  uint64_t table_bytes, decoded_bytes;  // as decoded
  uint64_t reserved;                    // zero
};
static_assert(sizeof(CompactHead) == 32);
constexpr char kCompactMagic[8] = {'W', 'I', 'C', 'K', 'L', 'Z', 'M', '\n'};
// What is decoded has at most so many bytes for each byte that the file keeps of it.
constexpr uint64_t kMostExpansion = 16;

// Layouts of a raw buffer in which float32 numbers are kept as others that are widened when the
// file is loaded, in compact files only. Layouts of packed weights have other ids.
constexpr uint32_t kStoredF16 = 0xFFFF0001, kStoredBF16 = 0xFFFF0002;

constexpr uint64_t align_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

}  // namespace wick
