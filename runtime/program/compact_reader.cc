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

// Each number of the constants that are kept in 16 bits becomes the float32 that it stands for,
// exactly. `bytes` are those of all of them: one piece of memory, as the arena's limit also counts
// what is left over in each block. Constants may share bytes of the file: the limit bounds that.
Status ProgramReader::widen(Span<ConstantDef> constants, size_t bytes) {
  WICK_ASSIGN(void* memory, p_.arena_.allocate(bytes, kSegmentAlignment));
  auto* free = static_cast<uint8_t*>(memory);
  for (uint32_t i = 0; i < constants.size(); ++i) {
    const uint32_t form = root_->constants()->Get(i)->raw()->layout();
    if (form != kStoredF16 && form != kStoredBF16) continue;
    TensorView& view = constants[i].view;
    const auto numbers = static_cast<size_t>(view.numel());
    WICK_TRY(ledger_.visit(numbers));
    const auto* from = static_cast<const uint8_t*>(view.data);
    auto* to = reinterpret_cast<float*>(free);
    for (size_t k = 0; k < numbers; ++k) {
      uint16_t bits = 0;
      memcpy(&bits, from + 2 * k, sizeof(bits));
      Half half;
      BFloat16 brain;
      half.bits = brain.bits = bits;
      to[k] = form == kStoredF16 ? static_cast<float>(half) : static_cast<float>(brain);
    }
    view.data = free;
    free += static_cast<size_t>(align_up(numbers * sizeof(float), kSegmentAlignment));
  }
  return {};
}

}  // namespace wick
