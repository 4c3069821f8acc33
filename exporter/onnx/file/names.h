// Names in a file and in the graph. A value without a name gets a made-up one in the file and loses
// it again when that is read: reading what was written gives the same text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick::onnx {

std::string made_up_name(int number);
bool is_made_up(const std::string& name);
// Number a name that several nodes share, and remove that number again.
std::string numbered_name(const std::string& name, int number);
std::string without_number(const std::string& name);

// The names of a graph and of those around it, and the constants among them, of which a region that
// reads them has copies. Sibling regions may have the same names.
class Names {
 public:
  void enter() { levels_.emplace_back(); }
  void leave() { levels_.pop_back(); }
  bool has(const std::string& name) const;
  bool take(const std::string& name);  // false if it is taken
  void add_constant(const ir::Value& v);
  bool is_constant(const ir::Value& v) const;  // the very one that add_constant() got

 private:
  struct Level {
    std::set<std::string> names;
    std::map<std::string, const void*> constants;
  };
  std::vector<Level> levels_ = std::vector<Level>(1);
};

// Settles the names of a model that was read: every name then stands for one value of the graph and
// of those around it (a function's values have the names of its body at every call), and constants
// are in the order in which they are first read, however the file listed them.
void settle_names(ir::Graph& graph);

}  // namespace wick::onnx
