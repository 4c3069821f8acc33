// Timer: measures when commands of a buffer complete, by the device's clock.
#pragma once

#include "runtime/backend/vulkan/vk/command.h"

namespace wick::vulkan {

class Timer {
 public:
  explicit Timer(Allocator& allocator) : raw_(allocator), ns_(allocator) {}

  // Allocates queries for that many marks. On a device without a clock the timer stays off.
  Status create(const Device& device, uint32_t marks);
  bool on() const { return pool_.get() != VK_NULL_HANDLE; }

  // Call these while recording commands. They do nothing if the timer is off.
  void begin(CommandBuffer& commands);
  void mark(CommandBuffer& commands);

  // Call it after the commands ran: fills ns(). Allocates nothing.
  Status read();
  // The time of each mark since the first, never decreasing. Empty: the device gave no times.
  Span<const uint64_t> ns() const { return {ns_.data(), got_ ? ns_.size() : 0}; }

 private:
  const Device* device_ = nullptr;
  UniqueQueryPool pool_;
  Array<uint64_t> raw_, ns_;
  uint32_t next_ = 0;
  bool got_ = false;
};

// Returns the ticks of a clock of `bits` between two readings, between which it may wrap around; 0
// if the second is slightly before the first.
inline uint64_t ticks_between(uint64_t from, uint64_t to, uint32_t bits) {
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t ticks = (to - from) & mask;
  return ticks > mask / 2 ? 0 : ticks;
}

}  // namespace wick::vulkan
