// Compact files: the table that is decoded, and the numbers that are widened.
#include <algorithm>

#include "runtime/core/half.h"
#include "runtime/program/lzma.h"
#include "runtime/program/reader.h"

namespace wick {

// Decodes the table and what lies behind it into the program's memory. The sizes come from the
// file: they are bounded by its own size before anything is allocated.
Status ProgramReader::expand(const uint8_t** table) {
  if (!options_.lent.empty())
    return Status(Code::kInvalidProgram, "weights are lent to a compact file, which has its own");
  const Span<const uint8_t> kept{*table, table_bytes_};
  CompactHead head;
  if (kept.size() < sizeof(head))
    return Status(Code::kInvalidProgram, "the compressed table is cut");
  memcpy(&head, kept.data(), sizeof(head));
  const uint64_t most = kMostExpansion * kept.size();
  if (memcmp(head.magic, kCompactMagic, sizeof(kCompactMagic)) != 0 || head.reserved != 0 ||
      head.table_bytes < 16 || head.table_bytes >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      head.table_bytes > most || head.decoded_bytes > most) {
    return Status(Code::kInvalidProgram, "the head of the compressed table is not sound");
  }
  const uint64_t at = align_up(head.table_bytes, kSegmentAlignment), size = at + head.decoded_bytes;
  if (size > most || size > SIZE_MAX / 2) {
    return error(Code::kInvalidProgram, "a table of %zu bytes would become %llu, %llu at most",
                 kept.size(), static_cast<unsigned long long>(size),
                 static_cast<unsigned long long>(most));
  }
  if (options_.max_ram == 0) {
    const uint64_t limit = kept.size() + size + 16 * head.table_bytes +
                           2 * (header_.segments_bytes + head.decoded_bytes) + (uint64_t{1} << 20);
    p_.arena_.set_limit(limit < SIZE_MAX ? static_cast<size_t>(limit) : SIZE_MAX);
  }
  own_ledger_ = Ledger({.visits = kVisitsPerByte * (header_.file_bytes + size)});
  WICK_TRY(ledger_.visit(size));
  WICK_ASSIGN(void* memory, p_.arena_.allocate(static_cast<size_t>(size), kSegmentAlignment));
  auto* decoded = static_cast<uint8_t*>(memory);
  const Span<const uint8_t> stream = kept.subspan(sizeof(head));
  WICK_ASSIGN(const size_t read,
              lzma::decode(stream, {decoded, static_cast<size_t>(size)}, *p_.allocator_));
  const Span<const uint8_t> behind = stream.subspan(read);
  if (std::any_of(behind.begin(), behind.end(), [](uint8_t b) { return b != 0; }))
    return Status(Code::kInvalidProgram, "something stands behind the compressed table");
  *table = decoded;
  table_bytes_ = static_cast<size_t>(head.table_bytes);
  decoded_ = {decoded + at, static_cast<size_t>(head.decoded_bytes)};
  return {};
}

Span<const uint8_t> ProgramReader::area_of(const fbs::Segment& segment) const {
  if (segment.decoded()) return decoded_;
  return {segments_, segments_ == nullptr ? 0 : static_cast<size_t>(header_.segments_bytes)};
}

// Each number of the file becomes the float32 that it stands for, exactly. Constants may share
// their bytes: the arena's limit bounds what they become.
Status ProgramReader::widen(uint32_t form, int64_t numbers, Span<const uint8_t>* bytes) {
  WICK_TRY(ledger_.visit(static_cast<uint64_t>(numbers)));
  WICK_ASSIGN(void* memory,
              p_.arena_.allocate(static_cast<size_t>(numbers) * sizeof(float), kSegmentAlignment));
  auto* to = static_cast<float*>(memory);
  for (int64_t i = 0; i < numbers; ++i) {
    uint16_t bits = 0;
    memcpy(&bits, bytes->data() + 2 * i, sizeof(bits));
    Half half;
    BFloat16 brain;
    half.bits = brain.bits = bits;
    to[i] = form == kStoredF16 ? static_cast<float>(half) : static_cast<float>(brain);
  }
  *bytes = {static_cast<const uint8_t*>(memory), static_cast<size_t>(numbers) * sizeof(float)};
  return {};
}

}  // namespace wick
