// A model as functions of C: names, types and sizes of what it takes and gives.
#pragma once

#include <string>
#include <vector>

#include "runtime/exec/session.h"

namespace wick::tool {

struct CPort {
  std::string name;               // as C has it
  const char* type = "float";     // of an element
  std::vector<std::string> dims;  // each a number, or the name of a symbol's parameter
  // What C has no array for, a string or a sequence, or whose shape no parameter tells: a
  // wick_tensor.
  bool as_tensor = false;
  PortInfo port = {};

  std::string elements() const;    // "batch * 784", "10"
  std::string shape_text() const;  // "[batch,1,28,28]"
};

struct CInterface {
  std::string name;  // of the model, as C has it: functions are NAME_open, NAME_run ...
  std::vector<std::string> symbols;  // parameters of NAME_run, in the order the inputs have them
  std::vector<CPort> inputs, outputs;

  std::string parameters()
      const;  // of NAME_run: "int64_t batch, const float* image, float* logits"
};

// A name that C takes and no other of `taken` has: letters, digits and underscores.
std::string c_name(const std::string& text, std::vector<std::string>* taken);
// The same of what the user calls the model, a global name of its program.
std::string c_model_name(const std::string& text);
// `name`: c_model_name() of what the user calls the model.
CInterface c_interface(const Session& session, const Program& program, const std::string& name);

}  // namespace wick::tool
