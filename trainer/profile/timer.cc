#include "trainer/profile/timer.h"

#include "trainer/tensor/vulkan_memory.h"

namespace wick {

void synchronize() { wait_for_vulkan("synchronize", Where::current()); }

}  // namespace wick
