// A model as C functions: names, types and sizes of its inputs and outputs.
#pragma once

#include <string>
#include <vector>

#include "runtime/exec/session.h"

namespace wick::tool {

struct CPort {
  std::string name;               // its name in C
  const char* type = "float";     // of an element
  std::vector<std::string> dims;  // each a number, or the name of a symbol's parameter
  // Something that C has no array for (a string or a sequence), or whose shape no parameter gives:
  // it is a wick_tensor.
  bool as_tensor = false;
  PortInfo port = {};

  std::string shape_text() const;  // "[batch,1,28,28]"
};

struct CInterface {
  std::string name;                  // the model's name in C: functions are NAME_open, NAME_run ...
  std::vector<std::string> symbols;  // parameters of NAME_run, in the order the inputs have them
  std::vector<CPort> inputs, outputs;

  std::string parameters() const;  // of NAME_run: "int64_t batch, const float* x, float* y"
};

// Returns a name that C accepts and that no other of `taken` has: letters, digits and underscores.
std::string c_name(const std::string& text, std::vector<std::string>* taken);
// Does the same for what the user calls the model, which is a global name of its program.
std::string c_model_name(const std::string& text);
// `name` is c_model_name() of what the user calls the model.
CInterface c_interface(const Session& session, const Program& program, const std::string& name);

}  // namespace wick::tool
