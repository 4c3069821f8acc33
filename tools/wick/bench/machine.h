// What the system says of this process and of the machine it runs on.
#pragma once

#include <string>

namespace wick::tool {

double peak_rss_mb();  // of this process so far
// Returns what the process now holds of its own memory and of the model's file, without its code.
double resident_mb(const std::string& model);
// Returns the load of the machine's last minute, in processes that run or want to: with it, a
// reader of figures knows what they are worth.
double load_average();
std::string cpu_name();  // "unknown CPU" where the system does not say

}  // namespace wick::tool
