// The folders of the tree and of its build. Only one source file knows them, so that the objects of
// all other tests are the same wherever the tree is, and copies of it share them through ccache.
#pragma once

#include <string>

namespace wick {

// `below` starts with a slash.
std::string source_dir(const std::string& below = {});
std::string build_dir(const std::string& below = {});

}  // namespace wick
