// Machines that `wick build` makes programs for: a folder each below targets/, with a target.json.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

struct DeployTarget {
  std::string name, title, folder;
  std::string toolchain;  // the path of its CMake toolchain file; "": this machine's own compiler
  std::string promise;    // of float results: "bits", those of the machine that exported; "close"
  std::vector<std::string>
      runner;                      // the words before a program's path; none: it runs here as it is
  std::vector<std::string> needs;  // programs that must be there to build and run
  std::vector<std::string> packages;  // of Debian, that have them
  std::string also;                   // a command for what no package has
  std::vector<std::string> cmake;     // "NAME=VALUE" of the runtime's own build
  std::vector<std::string> options;   // the same, which the user chose on top
  std::vector<std::string> sources;   // what a program there begins with: start-up code
  std::vector<std::string> link;      // and is linked with
  bool runs = true;                   // false: linked only
  bool files = true;                  // whether a program there opens files
  bool incbin = true;                 // whether its assembler takes GNU's .incbin

  std::vector<std::string> lacking() const;  // those of `needs` that are not on the PATH
  std::string how_to_install() const;        // "apt-get install a b; pip install c"
};

// The folder that has runtime/ and targets/: $WICK_SOURCES, else share/wick beside this program,
// else the tree that built it. Throws Error where there is none.
std::string wick_sources();
// By name. Throws Error with the file where one cannot be read.
std::vector<DeployTarget> deploy_targets();
// With "NAME=VALUE" switches of the runtime's build that the user chose. Wrong usage where there is
// no target of this name, or no such switch; the text lists them.
DeployTarget deploy_target(const std::string& name, const std::vector<std::string>& options = {});

}  // namespace wick::tool
