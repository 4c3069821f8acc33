#include "tools/wick/failure.h"

#include <nlohmann/json.hpp>

#include "tools/wick/command.h"

namespace wick::tool {
namespace {

// Returns the longest of the typed words that the message names, as a file or as NAME=FILE.
std::string named_word(const std::string& error, const std::vector<std::string>& words) {
  std::string longest;
  for (const std::string& word : words) {
    for (const std::string& part : {word, word.substr(word.find('=') + 1)}) {
      if (part.size() > std::max<size_t>(longest.size(), 1) && error.find(part) != part.npos)
        longest = part;
    }
  }
  return longest;
}

// Returns the op or the part of Wick that a message begins with: "[data] no folder ...".
std::string named_room(const std::string& error) {
  const size_t end = error.find(']');
  return error.starts_with('[') && end != std::string::npos ? error.substr(1, end - 1) : "";
}

}  // namespace

std::string with_advice(const std::string& error) {
  constexpr struct {
    const char *end, *advice;
  } kAdvice[] = {{"No such file or directory", "check the path"},
                 {"(its folder is missing)", "make it first"},
                 {"Permission denied", "check its rights"},
                 {"cut or mixed up", "copy it again, or make it anew"},
                 {"the file is empty", "copy it again, or make it anew"},
                 {"(protobuf cannot read it)", "wick reads .wick, ONNX and TensorFlow Lite files"},
                 {"not a model file", "a model is one file: .wick, ONNX or TensorFlow Lite"},
                 {"not an NPY file", "numpy.save writes one"}};
  for (const auto& [end, advice] : kAdvice) {
    if (error.ends_with(end)) return error + "; " + advice;
  }
  return error;
}

Failure failure_of(const std::string& command, const std::string& error,
                   const std::vector<std::string>& words) {
  Failure f{command, error, named_word(error, words), ""};
  if (f.where.empty()) f.where = named_room(error);
  if (f.where.empty() && error.find("standard input") != error.npos) f.where = "-";
  // Messages close with what to do, behind a semicolon.
  const size_t last = error.rfind("; ");
  if (last != std::string::npos) f.hint = error.substr(last + 2);
  return f;
}

void print_failure(const Failure& failure) {
  if (json_printed()) return;
  print_json({{"command", failure.command},
              {"error", failure.error},
              {"where", failure.where},
              {"hint", failure.hint}});
}

}  // namespace wick::tool
