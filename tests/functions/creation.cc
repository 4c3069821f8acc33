#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> creation_rows() {
  Rows row;
  return row.all;
}

}  // namespace wick::test
