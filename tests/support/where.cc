#include "tests/support/where.h"

namespace wick {

std::string source_dir(const std::string& below) { return WICK_SOURCE_DIR + below; }
std::string build_dir(const std::string& below) { return WICK_BINARY_DIR + below; }

}  // namespace wick
