// The documents that describe a server and its models to clients, as KServe and Triton write them.
#pragma once

#include <string>
#include <vector>

#include "tools/serve/repository.h"

namespace wick::serve {

std::string server_json();  // GET /v2
std::string metadata_json(const std::string& name, const ServedModel& model);
// Returns the parts of Triton's model configuration that clients read.
std::string config_json(const std::string& name, const ServedModel& model);
std::string index_json(const std::vector<Repository::Entry>& models);
std::string stats_json(const std::vector<Repository::Entry>& models);

}  // namespace wick::serve
