#include "tools/lib/deploy/project.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstring>
#include <filesystem>

#include "runtime/core/atomic_file.h"
#include "runtime/core/regular_file.h"
#include "runtime/core/sha256.h"
#include "runtime/select/selection.h"
#include "tools/lib/arrays.h"
#include "tools/lib/deploy/interface.h"
#include "tools/lib/deploy/templates.h"
#include "tools/lib/limits.h"
#include "tools/lib/text.h"
#include "tools/lib/usage.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::pair<std::string, std::string>>;

// Replaces @WORD@ for each word.
std::string filled(std::string text, const Words& words) {
  for (const auto& [word, value] : words) {
    const std::string mark = "@" + word + "@";
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += value.size())
      text.replace(at, mark.size(), value);
  }
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Makes a text safe for a comment: it must not end the comment or the line.
std::string in_comment(const std::string& text) {
  std::string safe;
  for (char c : text) safe += static_cast<unsigned char>(c) < 32 || c == '*' || c == '\\' ? '?' : c;
  return safe;
}
std::string in_string(const std::string& text) {
  std::string safe;
  for (unsigned char c : text) {
    if (c < 32 || c == '"' || c == '\\' || c == '?' || c > 126)
      safe += fmt::format("\\{:03o}", c);
    else
      safe += static_cast<char>(c);
  }
  return safe;
}

std::string byte_array(const std::string& name, const void* data, size_t bytes) {
  std::string text = fmt::format("static const WICK_ALIGNED unsigned char {}[{}] = {{", name,
                                 bytes == 0 ? 1 : bytes);
  for (size_t i = 0; i < bytes; ++i)
    text += fmt::format("{}{},", i % 32 == 0 ? "\n    " : "", static_cast<const uint8_t*>(data)[i]);
  return text + (bytes == 0 ? "0};\n" : "\n};\n");
}

std::string dtype_constant(DType dtype) { return std::to_string(static_cast<int>(dtype)); }

// Returns the wick_tensor of a port; `name` holds the elements.
std::string tensor_of(const CPort& p) {
  if (p.as_tensor) return "*" + p.name;
  return fmt::format("{{(void*){}, {}, {}, {{{}}}}}", p.name, dtype_constant(p.port.dtype),
                     p.dims.size(),
                     p.dims.empty() ? "0" : fmt::format("{}", fmt::join(p.dims, ", ")));
}

class Writer {
 public:
  Writer(const Model& model, const DeployTarget& target, const std::string& folder,
         const ProjectOptions& options)
      : model_(model),
        target_(target),
        folder_(folder),
        options_(options),
        runner_(model, {.entry = options.entry}) {
    c_ = c_interface(runner_.session(), model.program(), c_model_name(options.name));
    if (c_.inputs.size() + c_.outputs.size() > 100)
      throw Error(fmt::format("{} inputs and outputs are too many for one function of C",
                              c_.inputs.size() + c_.outputs.size()));
  }

  Project write() {
    Project p{c_.name, folder_, {}, 0, options_.inside, {}};
    sample();
    answers_ = runner_.run(sample_.inputs);
    Sha256 digest;
    for (const HostTensor& t : answers_) {
      if (t.dtype() != DType::kString)
        digest.update({static_cast<const uint8_t*>(t.data()), t.nbytes()});
    }
    p.answers_sha256 = digest.finish_text().text;
    auto selection = std::make_unique<OpSelection>();
    check(selection->add(model_.program(), sizes()), "the model's kernels");
    selection->each([&](const char* op) { p.ops.emplace_back(op); });
    std::vector<uint8_t> bytes;
    check_status(read_regular_file(options_.model_file.c_str(), &bytes));
    p.model_bytes = bytes.size();
    words_ = {{"NAME", c_.name},
              {"UPPER", upper(c_.name)},
              {"OWN_HEADER", fmt::format("#include \"{}.h\"", c_.name)},
              {"TITLE", in_comment(options_.name)},
              {"TARGET", target_.name},
              {"COMMA", c_.parameters().empty() ? "" : ", "},
              {"PARAMETERS", c_.parameters()},
              {"PORTS", ports_comment()},
              {"OPEN", options_.inside ? "int threads, " : "const char* path, int threads, "}};
    file(c_.name + ".h", filled(kHeader, words_));
    file(c_.name + ".c", source());
    if (options_.inside) weights(bytes);
    file("smoke.c", smoke());
    cmake(p.ops);
    make_folder(folder_);
    write_file(c_.name + ".wick", bytes.data(), bytes.size());
    for (const auto& [name, text] : files_) write_file(name, text.data(), text.size());
    return p;
  }

 private:
  // The given arrays decide the sizes of the made-up ones.
  void sample() {
    std::vector<HostTensor> given =
        given_arrays(runner_.session(), model_.program(), options_.inputs);
    std::vector<std::string> dims = options_.dims;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].present()) continue;
      const PortInfo port = runner_.session().input(i);
      for (size_t d = 0; d < port.dims.size(); ++d) {
        if (port.dims[d].symbol < 0) continue;
        const std::string name = fmt::format("{}=", symbol_name(port.dims[d].symbol));
        const std::string size = name + std::to_string(given[i].shape()[static_cast<int>(d)]);
        for (const std::string& other : dims) {
          if (other.starts_with(name) && other != size)
            wrong_usage("--input",
                        fmt::format("{} has {}, but {} was said", port.name, size, other));
        }
        dims.push_back(size);
      }
    }
    const QuickLimits of_inputs(kQuickHeld, 0);  // they become part of the files
    sample_ = sample_inputs(runner_.session(), model_.program(),
                            {.batch = std::nullopt, .named = std::move(dims)});
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i].present()) sample_.inputs[i] = std::move(given[i]);
  }
  const char* symbol_name(int32_t symbol) const {
    return model_.program().symbols()[static_cast<size_t>(symbol)].name;
  }

  void write_file(const std::string& name, const void* bytes, size_t n) {
    const std::string path = (fs::path(folder_) / name).string();
    refuse_link(path);
    check_status(write_file_atomically(path.c_str(), bytes, n));
  }
  // Kept until all texts are made, so that a model which has none leaves no half of a folder.
  void file(std::string name, std::string text) {
    files_.emplace_back(std::move(name), std::move(text));
  }

  // Returns the symbols' sizes in the smoke test's inputs.
  std::vector<DimBinding> sizes() const {
    std::vector<DimBinding> all;
    for (size_t i = 0; i < sample_.inputs.size(); ++i) {
      const PortInfo& port = c_.inputs[i].port;
      for (size_t d = 0; d < port.dims.size(); ++d)
        if (port.dims[d].symbol >= 0)
          all.push_back(
              {symbol_name(port.dims[d].symbol), sample_.inputs[i].shape()[static_cast<int>(d)]});
    }
    return all;
  }

  std::string ports_comment() const {
    std::string text;
    for (const auto* ports : {&c_.inputs, &c_.outputs}) {
      for (const CPort& p : *ports)
        text += fmt::format(" *   {:<7} {}: {} {}\n", ports == &c_.inputs ? "input" : "output",
                            p.name, dtype_name(p.port.dtype),
                            p.as_tensor
                                ? "as a wick_tensor, whose memory is the model's until the next run"
                                : p.shape_text());
    }
    return text;
  }

  std::string source() {
    std::string in, out;
    for (const CPort& p : c_.inputs)
      in += fmt::format("{}{}", in.empty() ? "" : ",\n                      ", tensor_of(p));
    for (const CPort& p : c_.outputs)
      out += fmt::format("{}{}", out.empty() ? "" : ",\n                       ",
                         p.as_tensor ? "{0}" : tensor_of(p));
    std::string back;
    for (size_t i = 0; i < c_.outputs.size(); ++i)
      if (c_.outputs[i].as_tensor)
        back += fmt::format("  if (code == WICK_OK) *{} = out[{}];\n", c_.outputs[i].name, i);
    std::string seen;
    for (const DimBinding& d : sizes()) {
      const std::string one = fmt::format("{{\"{}\", {}}}, ", in_string(d.symbol), d.extent);
      if (seen.find(one) == std::string::npos) seen += one;
    }
    Words words = words_;
    words.insert(words.end(),
                 {{"INS", in.empty() ? "{0}" : in},
                  {"IN_COUNT", std::to_string(c_.inputs.size())},
                  {"IN_PLACES", std::to_string(std::max<size_t>(1, c_.inputs.size()))},
                  {"OUTS", out},
                  {"OUT_COUNT", std::to_string(c_.outputs.size())},
                  {"BACK", back},
                  {"DIMS", seen},
                  {"SET_ENTRY", options_.entry.empty() ? ""
                                                       : fmt::format("  options.entry = \"{}\";\n",
                                                                     in_string(options_.entry))},
                  {"DIM_COUNT", seen.empty() ? "0" : "sizeof(dims) / sizeof(dims[0]) - 1"}});
    return filled(std::string(kSourceHead) +
                      (options_.inside ? kSourceOpenInside : kSourceOpenBeside) + kSourceTail,
                  words);
  }

  void weights(const std::vector<uint8_t>& bytes) {
    if (target_.incbin) return file(c_.name + "_wick.S", filled(kIncbin, words_));
    std::string text = "#include <stddef.h>\n#define WICK_ALIGNED __attribute__((aligned(64)))\n";
    text += byte_array(c_.name + "_wick", bytes.data(), bytes.size()).substr(strlen("static "));
    text += fmt::format("const size_t {}_wick_size = sizeof({}_wick);\n", c_.name, c_.name);
    file(c_.name + "_wick.c", text);
  }

  std::string smoke() {
    std::string data, calls, checks, arguments;
    const auto argument = [&](const std::string& text) {
      arguments += (arguments.empty() ? "" : ", ") + text;
    };
    for (const DimBinding& d : symbols_in_order()) argument(std::to_string(d.extent));
    for (size_t i = 0; i < c_.inputs.size(); ++i) {
      const HostTensor& t = sample_.inputs[i];
      if (c_.inputs[i].as_tensor && (t.dtype() == DType::kString || dtype_bits(t.dtype()) == 0))
        throw Error(fmt::format("input {} holds {}: the C functions take numbers alone",
                                c_.inputs[i].port.name, dtype_name(t.dtype())));
      data += byte_array(fmt::format("in_{}", i), t.data(), t.nbytes());
      if (!c_.inputs[i].as_tensor) {
        argument(fmt::format("(const {}*)in_{}", c_.inputs[i].type, i));
        continue;
      }
      calls += fmt::format("  wick_tensor in_tensor_{} = {};\n", i,
                           tensor_text(t, fmt::format("(void*)in_{}", i)));
      argument(fmt::format("&in_tensor_{}", i));
    }
    for (size_t i = 0; i < c_.outputs.size(); ++i) {
      const HostTensor& t = answers_[i];
      const bool comparable = t.dtype() != DType::kString && t.nbytes() != 0;
      if (comparable) data += byte_array(fmt::format("want_{}", i), t.data(), t.nbytes());
      std::string got = fmt::format("out_{}", i);
      if (c_.outputs[i].as_tensor) {
        calls += fmt::format("  wick_tensor out_{} = {{0}};\n", i);
        argument(fmt::format("&out_{}", i));
        got += ".data";
      } else {
        calls += fmt::format("  static WICK_ALIGNED unsigned char out_{}[{}];\n", i,
                             std::max<size_t>(1, t.nbytes()));
        argument(fmt::format("({}*)out_{}", c_.outputs[i].type, i));
      }
      if (comparable)
        checks += fmt::format("  same &= compare(\"{}\", {}, want_{}, {}, {});\n",
                              in_string(c_.outputs[i].port.name), got, i, t.nbytes(),
                              t.dtype() == DType::kF32   ? 4
                              : t.dtype() == DType::kF64 ? 8
                                                         : 1);
    }
    Words words = words_;
    words.insert(
        words.end(),
        {{"DATA", data},
         {"CALLS", calls},
         {"CHECKS", checks},
         {"ARGUMENTS", arguments.empty() ? "" : ", " + arguments},
         {"PATH",
          options_.inside ? "" : fmt::format("argc > 1 ? argv[1] : \"{}.wick\", ", c_.name)},
         {"PROMISE", target_.promise == "bits" ? "1" : "0"},
         {"SAY", target_.sources.empty() ? kSay : kSayThere},
         {"RAM", target_.sources.empty() ? "" : kRam}});
    return filled(kSmoke, words);
  }

  static std::string tensor_text(const HostTensor& t, const std::string& data) {
    std::string dims;
    for (int d = 0; d < t.shape().rank(); ++d)
      dims += (d == 0 ? "" : ", ") + std::to_string(t.shape()[d]);
    return fmt::format("{{{}, {}, {}, {{{}}}}}", data, dtype_constant(t.dtype()), t.shape().rank(),
                       dims.empty() ? "0" : dims);
  }

  // Returns one size for each parameter, in order.
  std::vector<DimBinding> symbols_in_order() const {
    std::vector<DimBinding> all;
    for (const std::string& symbol : c_.symbols) {
      for (size_t i = 0; i < c_.inputs.size(); ++i) {
        const auto& dims = c_.inputs[i].dims;
        const auto at = std::find(dims.begin(), dims.end(), symbol);
        if (at == dims.end()) continue;
        all.push_back(
            {symbol.c_str(), sample_.inputs[i].shape()[static_cast<int>(at - dims.begin())]});
        break;
      }
    }
    return all;
  }

  void cmake(const std::vector<std::string>& ops) {
    const std::string weights =
        !options_.inside ? "" : c_.name + (target_.incbin ? "_wick.S" : "_wick.c");
    Words words = words_;
    words.insert(words.end(),
                 {{"SOURCES", wick_sources()},
                  {"TOOLCHAIN", target_.toolchain},
                  {"START", fmt::format("{}", fmt::join(target_.sources, " "))},
                  {"LINK", fmt::format("{}", fmt::join(target_.link, " "))},
                  {"WEIGHTS", weights},
                  {"RUNNER", fmt::format("{}", fmt::join(quoted(target_.runner), " "))},
                  {"OPS", fmt::format("{}", fmt::join(ops, "\n  "))}});
    file("CMakeLists.txt", filled(kCMake, words));
    file("Makefile", filled(kMakefile, words));
  }
  static std::vector<std::string> quoted(const std::vector<std::string>& words) {
    std::vector<std::string> all;
    for (const std::string& w : words) all.push_back(shell_quote(w));
    return all;
  }

  const Model& model_;
  const DeployTarget& target_;
  std::string folder_;
  const ProjectOptions& options_;
  Runner runner_;
  CInterface c_;
  Sample sample_;
  std::vector<HostTensor> answers_;
  Words words_;
  std::vector<std::pair<std::string, std::string>> files_;  // names and texts
};

}  // namespace

Project write_project(const Model& model, const DeployTarget& target, const std::string& folder,
                      const ProjectOptions& options) {
  return Writer(model, target, folder, options).write();
}

}  // namespace wick::tool
