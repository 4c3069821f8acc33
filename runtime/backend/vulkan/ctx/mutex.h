// Locks for what several sessions share on a device: the queue and the pipelines.
#pragma once

#include "runtime/platform/threads.h"

namespace wick::vulkan {

using platform::Mutex;
using platform::MutexLock;

}  // namespace wick::vulkan
