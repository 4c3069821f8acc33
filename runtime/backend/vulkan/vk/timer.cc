#include "runtime/backend/vulkan/vk/timer.h"

namespace wick::vulkan {

Status Timer::create(const Device& device, uint32_t marks) {
  device_ = &device;
  if (device.info().timestamp_bits == 0 || !(device.info().limits.timestampPeriod > 0)) return {};
  WICK_TRY(raw_.resize(marks));
  WICK_TRY(ns_.resize(marks));
  VkQueryPoolCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = marks;
  return pool_.create(device, &Api::CreateQueryPool, info, "vkCreateQueryPool");
}

void Timer::begin(CommandBuffer& commands) {
  next_ = 0;
  if (on()) commands.reset(pool_.get(), static_cast<uint32_t>(raw_.size()));
}

void Timer::mark(CommandBuffer& commands) {
  if (on() && next_ < raw_.size()) commands.timestamp(pool_.get(), next_++);
}

Status Timer::read() {
  got_ = false;
  if (!on()) return {};
  const VkResult r = device_->api().GetQueryPoolResults(device_->handle(), pool_.get(), 0, next_,
                                                        raw_.size() * sizeof(uint64_t), raw_.data(),
                                                        sizeof(uint64_t), VK_QUERY_RESULT_64_BIT);
  if (r == VK_NOT_READY) return {};  // the work is done all the same
  WICK_TRY(check(r, "vkGetQueryPoolResults"));
  const DeviceInfo& info = device_->info();
  uint64_t ticks = 0;
  for (size_t i = 0; i < ns_.size(); ++i) {
    if (i != 0) ticks += ticks_between(raw_[i - 1], raw_[i], info.timestamp_bits);
    ns_[i] = static_cast<uint64_t>(static_cast<double>(ticks) *
                                   static_cast<double>(info.limits.timestampPeriod));
  }
  got_ = next_ == ns_.size();
  return {};
}

}  // namespace wick::vulkan
