#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> index_rows() {
  Rows row;
  return row.all;
}

}  // namespace wick::test
