#include "tools/lib/deploy/interface.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace wick::tool {
namespace {

// Keywords of C and of C++, to C23 and C++23, as GNU compilers have them, and what they define in
// small letters.
constexpr std::string_view kReserved =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char"
    " char16_t char32_t char8_t class co_await co_return co_yield compl concept const"
    " const_cast consteval constexpr constinit continue decltype default delete do double"
    " dynamic_cast else enum explicit export extern false float for friend goto if inline"
    " int long mutable namespace new noexcept not not_eq nullptr operator or or_eq"
    " private protected public register reinterpret_cast requires restrict return short"
    " signed sizeof static static_assert static_cast struct switch template this"
    " thread_local throw true try typedef typeid typename typeof typeof_unqual union"
    " unsigned using virtual void volatile wchar_t while xor xor_eq main errno stdin"
    " stdout stderr linux unix i386 arm mips sun ";

// How macros in capital letters begin that the headers define which the written files include.
constexpr const char* kMacros[] = {
    "NULL",     "EOF",     "FILE",      "FILENAME_", "FOPEN_", "BUFSIZ", "SEEK_",    "TMP_MAX",
    "L_tmpnam", "INT8_",   "INT16_",    "INT32_",    "INT64_", "INT_",   "INTMAX_",  "INTPTR_",
    "UINT",     "SIZE_",   "PTRDIFF_",  "SIG_",      "WCHAR_", "WINT_",  "EXIT_",    "RAND_MAX",
    "MB_",      "WNOHANG", "WUNTRACED", "WEXIT",     "WTERM",  "WSTOP",  "WIF",      "WCON",
    "WNOWAIT",  "M_",      "FP_",       "HUGE_VAL",  "MATH_",  "NAN",    "INFINITY", "WICK"};

// Names in the headers that the written files include, and in the program that they are linked to.
constexpr const char* kGlobal[] = {
    "NULL",    "EOF",      "FILE",     "printf",   "fprintf", "snprintf", "sprintf", "puts",
    "fputs",   "putchar",  "fopen",    "fclose",   "fread",   "fwrite",   "fgets",   "scanf",
    "sscanf",  "fscanf",   "perror",   "remove",   "rename",  "memcpy",   "memmove", "memset",
    "memcmp",  "memchr",   "strcmp",   "strncmp",  "strlen",  "strcpy",   "strncpy", "strcat",
    "strchr",  "strstr",   "strerror", "malloc",   "calloc",  "realloc",  "free",    "exit",
    "abort",   "abs",      "atoi",     "atof",     "strtol",  "strtod",   "rand",    "srand",
    "qsort",   "getenv",   "system",   "size_t",   "int8_t",  "int16_t",  "int32_t", "int64_t",
    "uint8_t", "uint16_t", "uint32_t", "uint64_t", "index",   "read",     "write",   "open",
    "close",   "time",     "clock",    "select",   "signal",  "link",     "y0",      "y1",
    "yn",      "j0",       "j1",       "jn",       "exp",     "log",      "sqrt",    "floor"};

// Returns null if C has no array of these.
const char* c_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "float";
    case DType::kF64: return "double";
    case DType::kI8: return "int8_t";
    case DType::kI16: return "int16_t";
    case DType::kI32: return "int32_t";
    case DType::kI64: return "int64_t";
    case DType::kBool:
    case DType::kU8: return "uint8_t";
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16: return "uint16_t";
    case DType::kU32: return "uint32_t";
    case DType::kU64: return "uint64_t";
    default: return nullptr;
  }
}

std::string symbol_name(const Program& program, int32_t s) {
  return program.symbols()[static_cast<size_t>(s)].name;
}

bool is_macro(const std::string& name) {
  const auto small = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
  if (std::any_of(name.begin(), name.end(), small)) return false;
  return std::any_of(std::begin(kMacros), std::end(kMacros),
                     [&](const char* m) { return name.starts_with(m); });
}

}  // namespace

std::string CPort::shape_text() const {
  std::string text;
  for (const std::string& d : dims) text += (text.empty() ? "" : ",") + d;
  return "[" + text + "]";
}

std::string c_name(const std::string& text, std::vector<std::string>* taken) {
  std::string name;
  for (char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  const auto upper = [&](size_t i) {
    return std::isupper(static_cast<unsigned char>(name[i])) != 0;
  };
  const bool compilers = name.size() > 1 && name[0] == '_' && (name[1] == '_' || upper(1));
  if (name.empty() || compilers || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
    name = "m" + name;
  if (kReserved.find(" " + name + " ") != std::string_view::npos || is_macro(name)) name += "_";
  std::string other = name;
  for (int n = 2; std::find(taken->begin(), taken->end(), other) != taken->end(); ++n)
    other = fmt::format("{}_{}", name, n);
  taken->push_back(other);
  return other;
}

std::string c_model_name(const std::string& text) {
  std::vector<std::string> taken;
  const std::string name = c_name(text, &taken);
  const bool known = std::find(std::begin(kGlobal), std::end(kGlobal), name) != std::end(kGlobal);
  return known || name.rfind("wick", 0) == 0 ? "m" + name : name;
}

CInterface c_interface(const Session& session, const Program& program, const std::string& name) {
  CInterface c;
  c.name = name;
  // What NAME_run() declares and calls, and the types of parameters and their tensors.
  std::vector<std::string> taken = {"model",    "in",          "out",      "code",
                                    name,       "wick_tensor", "size_t",   "int8_t",
                                    "int16_t",  "int32_t",     "int64_t",  "uint8_t",
                                    "uint16_t", "uint32_t",    "uint64_t", "wick_session_run"};
  std::vector<std::pair<std::string, std::string>> symbols;  // name in the model, name in C
  const auto typed = [&](const PortInfo& port, bool input) {
    CPort p;
    p.port = port;
    p.as_tensor = port.unranked || c_type(port.dtype) == nullptr;
    if (!p.as_tensor) p.type = c_type(port.dtype);
    for (const DimDef& d : port.dims) {
      if (p.as_tensor) break;
      if (d.symbol < 0 && d.value >= 0) {
        p.dims.push_back(std::to_string(d.value));
        continue;
      }
      const std::string symbol = d.symbol < 0 ? "" : symbol_name(program, d.symbol);
      auto known = std::find_if(symbols.begin(), symbols.end(),
                                [&](const auto& s) { return s.first == symbol; });
      if (d.symbol < 0 || (known == symbols.end() && !input)) {
        p.as_tensor = true;
      } else if (known == symbols.end()) {
        symbols.emplace_back(symbol, c_name(symbol, &taken));
        c.symbols.push_back(symbols.back().second);
        p.dims.push_back(symbols.back().second);
      } else {
        p.dims.push_back(known->second);
      }
    }
    if (p.as_tensor) p.dims.clear();
    return p;
  };
  for (size_t i = 0; i < session.input_count(); ++i)
    c.inputs.push_back(typed(session.input(i), true));
  for (size_t i = 0; i < session.output_count(); ++i)
    c.outputs.push_back(typed(session.output(i), false));
  for (CPort& p : c.inputs) p.name = c_name(p.port.name, &taken);
  for (CPort& p : c.outputs) p.name = c_name(p.port.name, &taken);
  return c;
}

std::string CInterface::parameters() const {
  std::string text;
  for (const std::string& s : symbols) text += fmt::format(", int64_t {}", s);
  for (const CPort& p : inputs)
    text += p.as_tensor ? fmt::format(", const wick_tensor* {}", p.name)
                        : fmt::format(", const {}* {}", p.type, p.name);
  for (const CPort& p : outputs)
    text += p.as_tensor ? fmt::format(", wick_tensor* {}", p.name)
                        : fmt::format(", {}* {}", p.type, p.name);
  return text.empty() ? "" : text.substr(2);
}

}  // namespace wick::tool
