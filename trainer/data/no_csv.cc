// Replaces csv.cc if libcsv is not installed.
#include "trainer/data/csv_rows.h"
#include "wick/error.h"

namespace wick::data {

std::vector<std::vector<std::string>> parse_csv(Span<const uint8_t>, const std::string& name,
                                                char) {
  throw Error(
      "[csv] " + name + ": Wick was built without libcsv: install libcsv-dev and build again",
      Code::kUnsupported);
}

}  // namespace wick::data
