#include "tools/wick/sizes.h"

#include <fmt/core.h>

#include <map>

namespace wick::tool {
namespace {

class Sizes {
 public:
  void add(const std::string& symbol, const std::string& input, int64_t size) {
    const auto [at, fresh] = seen_.try_emplace(symbol, input, size);
    const auto& [first, other] = at->second;
    if (!fresh && other != size && why_.empty())
      why_ = fmt::format("{} is {} in {} and {} in {}", symbol, other, first, size, input);
  }
  const std::string& why() const { return why_; }

 private:
  std::map<std::string, std::pair<std::string, int64_t>> seen_;
  std::string why_;
};

}  // namespace

std::string two_sizes(const Program& program, const Session& session,
                      Span<const HostTensor> given) {
  Sizes sizes;
  for (size_t i = 0; i < std::min(given.size(), session.input_count()); ++i) {
    const PortInfo port = session.input(i);
    const Shape& shape = given[i].shape();
    if (port.unranked || static_cast<size_t>(shape.rank()) != port.dims.size()) continue;
    for (int d = 0; d < shape.rank(); ++d) {
      const int symbol = port.dims[static_cast<size_t>(d)].symbol;
      if (symbol >= 0)
        sizes.add(program.symbols()[static_cast<size_t>(symbol)].name, port.name, shape[d]);
    }
  }
  return sizes.why();
}

std::string two_sizes(const ir::Graph& graph, Span<const HostTensor> given) {
  Sizes sizes;
  for (size_t i = 0; i < std::min(given.size(), graph.inputs().size()); ++i) {
    const ir::Value& v = graph.value(graph.inputs()[i]);
    const Shape& shape = given[i].shape();
    if (is_container(v.dtype) || !v.ranked || shape.rank() != v.shape.rank()) continue;
    for (int d = 0; d < shape.rank(); ++d) {
      if (!v.shape[d].known()) sizes.add(v.shape[d].text(), v.name, shape[d]);
    }
  }
  return sizes.why();
}

}  // namespace wick::tool
