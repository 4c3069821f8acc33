// Errors about undefined tensors.
#include <string_view>

#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"

namespace wick {
namespace {

// The line where the last undefined argument was passed: errors of an op that needs it defined name
// it.
constinit thread_local Where g_passed;

bool of_the_engine(const Where& where) {
  std::string_view file = where.file_name();
  return file.find("trainer/tensor/") != file.npos || file.find("trainer/autograd/") != file.npos ||
         file.find("trainer/nn/") != file.npos;
}

// Returns "linalg::solve" for "wick::Tensor wick::linalg::solve(const wick::Arg&, ...)", and
// "tensor" for a helper, whose name no user knows.
std::string op_of(const Where& where) {
  std::string name = where.function_name();
  for (const char* scope : {"wick::", "{anonymous}::", "Tensor::"}) {
    for (size_t at; (at = name.find(scope)) != name.npos;)
      name.erase(at, std::string(scope).size());
  }
  name.erase(std::min(name.size(), name.find('(')));
  name = name.substr(name.find_last_of(" *&") + 1);
  const size_t scope = name.find("::");
  const std::string_view in = std::string_view(name).substr(0, scope);
  const bool known = scope == name.npos || in == "linalg" || in == "fft" || in == "special";
  return known ? name : "tensor";
}

}  // namespace

void note_undefined(const Where& where) { g_passed = where; }

void undefined_tensor(const char* what, const Where& where) {
  if (!of_the_engine(where)) throw_error(what, "the tensor is undefined: it was never made", where);
  const CallSite* site = modes().site;
  const bool passed = g_passed.line() != 0;
  throw_error(site != nullptr ? site->name : op_of(where),
              "an input is undefined: it was never made",
              site != nullptr ? site->where
              : passed        ? g_passed
                              : where);
}

}  // namespace wick
