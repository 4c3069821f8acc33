// Locks of what several sessions of one device share: the queue and the pipelines.
#pragma once

#include "runtime/platform/threads.h"

namespace wick::vulkan {

using platform::Mutex;
using platform::MutexLock;

}  // namespace wick::vulkan
