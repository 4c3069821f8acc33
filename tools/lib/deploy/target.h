// The machines that `wick build` makes programs for: one folder each in targets/, with a
// target.json.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

struct DeployTarget {
  std::string name, title, folder;
  std::string toolchain;  // the path of its CMake toolchain file; "": this machine's own compiler
  std::string promise;    // for float results: "bits", those of the exporting machine; "close"
  std::vector<std::string> runner;    // the words before a program's path; none: it runs directly
  std::vector<std::string> needs;     // programs that must be there to build and run
  std::vector<std::string> packages;  // the Debian packages that have them
  std::string also;                   // a command for what no package has
  std::vector<std::string> cmake;     // "NAME=VALUE" of the runtime's build
  std::vector<std::string> options;   // the same, chosen by the user in addition
  std::vector<std::string> sources;   // start-up code, which a program there begins with
  std::vector<std::string> link;      // options it is linked with
  bool runs = true;                   // false: linked only
  bool files = true;                  // a program there can open files
  bool incbin = true;                 // its assembler takes GNU's .incbin

  std::vector<std::string> lacking() const;  // those of `needs` that are not on the PATH
  std::string how_to_install() const;        // "apt-get install a b; pip install c"
};

// Returns the folder that has runtime/ and targets/: $WICK_SOURCES, else share/wick next to this
// program, else the tree that built it. Throws Error if there is none.
std::string wick_sources();
// Returns the targets by name. Throws Error with the file if one cannot be read.
std::vector<DeployTarget> deploy_targets();
// Returns the target with the "NAME=VALUE" switches of the runtime's build that the user chose. It
// is wrong usage if there is no target of this name, or no such switch; the text lists them.
DeployTarget deploy_target(const std::string& name, const std::vector<std::string>& options = {});

}  // namespace wick::tool
