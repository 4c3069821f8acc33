// Trust's verdicts: sorted, reported and stored on disk.
#include <cstring>
#include <utility>

#include "runtime/backend/vulkan/trust/trust.h"

namespace wick::vulkan {

Status Trust::reason(uint64_t fingerprint) const {
  for (const Line* line : complaints_) {
    if (line->fingerprint == fingerprint)
      return error(Code::kUnsupported, "the device computes it wrongly: %s", line->text);
  }
  return Status(Code::kUnsupported,
                "the device computes it wrongly, as an earlier program found out and kept");
}

size_t Trust::place_of(const Array<Entry>& list, uint64_t fingerprint) {
  size_t low = 0, high = list.size();
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (list[mid].fingerprint < fingerprint) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

const Trust::Entry* Trust::find(const Array<Entry>& list, uint64_t fingerprint) {
  const size_t place = place_of(list, fingerprint);
  return place < list.size() && list[place].fingerprint == fingerprint ? &list[place] : nullptr;
}

Status Trust::why_not(const KernelQuery& query, uint64_t fingerprint) {
  MutexLock lock(lock_);
  const Entry *known = find(verdicts_, fingerprint), *shipped = find(warm_, fingerprint);
  // What was wrong in one place is not right because it was right in the other.
  if (known == nullptr || (shipped != nullptr && shipped->verdict == Verdict::kBad))
    known = shipped;
  if (known != nullptr) return known->verdict == Verdict::kGood ? Status() : reason(fingerprint);
  const Status s = find_out(query, fingerprint, place_of(verdicts_, fingerprint));
  // There was no memory for the comparison: this call alone is left to the CPU.
  return s.code() == Code::kOutOfMemory ? error(Code::kUnsupported, "%s", s.message()) : s;
}

Status Trust::examine(const KernelQuery& query, uint64_t fingerprint) {
  MutexLock lock(lock_);
  return find_out(query, fingerprint, place_of(verdicts_, fingerprint));
}

Status Trust::find_out(const KernelQuery& query, uint64_t fingerprint, size_t place) {
  Verdict verdict = Verdict::kBad;
  Line line;
  line.fingerprint = fingerprint;
  WICK_TRY(annotate(check(query, &verdict, &line), "it could not be compared with the CPU: "));
  checked_.fetch_add(1, std::memory_order_relaxed);
  const bool failed = verdict == Verdict::kBad;
  const bool known = place < verdicts_.size() && verdicts_[place].fingerprint == fingerprint;
  if (known && verdicts_[place].verdict == Verdict::kBad) verdict = Verdict::kBad;
  // If there is no memory for the verdict, the next call checks again.
  if (known || verdicts_.push_back({}).ok()) {
    for (size_t i = verdicts_.size() - 1; !known && i > place; --i) verdicts_[i] = verdicts_[i - 1];
    verdicts_[place] = {fingerprint, verdict};
    changed_ = true;
  }
  // The verdict is stored first, so that failing to store the line does not make the kernel good.
  if (failed) WICK_TRY(complain(line));
  return verdict == Verdict::kGood ? Status() : reason(fingerprint);
}

Status Trust::complain(const Line& line) {
  MutexLock lock(complaints_lock_);
  WICK_TRY(complaints_.reserve(complaints_.size() + 1));
  WICK_ASSIGN(auto kept, lines_.array<Line>(1));
  kept[0] = line;
  return complaints_.push_back(kept.data());
}

size_t Trust::complaint_count() const {
  MutexLock lock(complaints_lock_);
  return complaints_.size();
}

const char* Trust::complaint(size_t i) const {
  MutexLock lock(complaints_lock_);
  return complaints_[i]->text;
}

// Reads a list that is in order and has no other verdicts than ours.
Status Trust::parse(Span<const uint8_t> bytes, Array<Entry>& list) {
  const Status wrong(Code::kInvalidProgram, "it has verdicts that Wick did not write");
  if (bytes.size() % sizeof(Entry) != 0) return wrong;
  const size_t n = bytes.size() / sizeof(Entry);
  WICK_TRY(list.resize(n));
  if (n != 0) memcpy(static_cast<void*>(list.data()), bytes.data(), bytes.size());
  for (size_t i = 0; i < n; ++i) {
    const Entry& e = list[i];
    const bool known = e.verdict == Verdict::kGood || e.verdict == Verdict::kBad;
    if (known && (i == 0 || list[i - 1].fingerprint < e.fingerprint)) continue;
    list.clear();
    return wrong;
  }
  return {};
}

// Adds what the list lacks; what is wrong in either stays wrong.
Status Trust::merge(const Array<Entry>& more, Array<Entry>& list) {
  Array<Entry> all(list.allocator());
  WICK_TRY(all.reserve(list.size() + more.size()));
  size_t a = 0, b = 0;
  while (a < list.size() || b < more.size()) {
    const bool from_a =
        b == more.size() || (a < list.size() && list[a].fingerprint <= more[b].fingerprint);
    Entry e = from_a ? list[a++] : more[b++];
    if (from_a && b < more.size() && more[b].fingerprint == e.fingerprint) {
      if (more[b].verdict == Verdict::kBad) e.verdict = Verdict::kBad;
      ++b;
    }
    WICK_TRY(all.push_back(e));
  }
  list = std::move(all);
  return {};
}

Status Trust::check_warm(Span<const uint8_t> bytes) const {
  Array<Entry> read(allocator_);
  return parse(bytes, read);
}

Status Trust::add_warm(Span<const uint8_t> bytes) {
  Array<Entry> added(allocator_);
  WICK_TRY(parse(bytes, added));
  MutexLock lock(lock_);
  return merge(added, warm_);
}

Status Trust::put(Array<uint8_t>& bytes) {
  MutexLock lock(lock_);
  Array<Entry> all(allocator_);
  WICK_TRY(merge(verdicts_, all));
  WICK_TRY(merge(warm_, all));
  WICK_TRY(bytes.resize(all.size() * sizeof(Entry)));
  if (!all.empty()) memcpy(bytes.data(), static_cast<const void*>(all.data()), bytes.size());
  return {};
}

void Trust::load(const DiskCache& disk) {
  Array<uint8_t> bytes(allocator_);
  if (disk.read("trust", bytes).ok()) (void)parse(bytes, verdicts_);
}

void Trust::save(const DiskCache& disk) {
  MutexLock lock(lock_);
  if (!changed_) return;
  changed_ = false;
  // If the verdicts cannot be stored, they are checked again.
  (void)disk.write("trust", {reinterpret_cast<const uint8_t*>(verdicts_.data()),
                             verdicts_.size() * sizeof(Entry)});
}

}  // namespace wick::vulkan
