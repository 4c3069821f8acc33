// wick inspect --html: a model as a page.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

struct InspectPage {
  std::string model, out, entry;  // entry "": the first
  std::vector<std::string> inputs, dims;
  bool profile = false, json = false;
  int threads = 1;
  double seconds = 1;
};

// Writes the page of a model, or of a training run's folder: then of the model as it would be
// exported.
void write_inspect_page(const InspectPage& c);

}  // namespace wick::tool
