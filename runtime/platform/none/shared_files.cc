// There are no other processes, so no file is held by one and none was left by one.
#include "runtime/platform/files.h"

namespace wick::platform {

bool is_local(int /*fd*/) { return false; }
Lock try_lock(int /*fd*/) { return Lock::kNone; }
long process_id() { return 1; }
bool process_ended(long /*id*/) { return false; }
void remove_from_folder(const char* /*path*/, bool (* /*each*/)(void* context, const char* name),
                        void* /*context*/) {}

}  // namespace wick::platform
