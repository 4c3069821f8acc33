#include "tools/lib/verify/old_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <memory>

#include "wick/error.h"
#include "wick/wick.h"

namespace wick::tool {
namespace {

class Library {
 public:
  explicit Library(const std::string& path) : path_(path) {
    // A path without a slash would be searched among the system's libraries.
    const std::string place = path.find('/') == std::string::npos ? "./" + path : path;
    handle_ = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw Error(fmt::format("--old: {}", dlerror()), Code::kIo);
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class F>
  F* get(F*, const char* name) const {
    void* symbol = dlsym(handle_, name);
    if (symbol == nullptr)
      throw Error(fmt::format("--old {}: it has no {}: not a libwick_runtime", path_, name),
                  Code::kNotFound);
    return reinterpret_cast<F*>(symbol);
  }

 private:
  std::string path_;
  void* handle_;
};
#define WICK_OF(library, name) (library).get(&::name, #name)

wick_tensor tensor_of(const HostTensor& t) {
  wick_tensor w = {};
  w.data = const_cast<void*>(t.data());  // the interface only reads inputs
  w.dtype = static_cast<int32_t>(t.dtype());
  w.rank = t.shape().rank();
  for (int i = 0; i < w.rank; ++i) w.dims[i] = t.shape()[i];
  return w;
}

}  // namespace

OldRun run_old_library(const std::string& path, const std::string& model,
                       Span<const HostTensor> inputs) {
  const Library library(path);
  OldRun run;
  run.version = WICK_OF(library, wick_version)();
  const auto last_error = WICK_OF(library, wick_last_error);
  const auto ok = [&](int code, const char* what) {
    if (code != WICK_OK)
      throw Error(fmt::format("Wick {} ({}), {}: {}", run.version, path, what, last_error()));
  };
  wick_program* program = nullptr;
  ok(WICK_OF(library, wick_program_load)(model.c_str(), nullptr, &program), "load");
  const std::unique_ptr<wick_program, decltype(&wick_program_free)> owns_program(
      program, WICK_OF(library, wick_program_free));
  wick_session* session = nullptr;
  ok(WICK_OF(library, wick_session_create)(program, nullptr, &session), "session");
  const std::unique_ptr<wick_session, decltype(&wick_session_free)> owns_session(
      session, WICK_OF(library, wick_session_free));
  std::vector<wick_tensor> in;
  for (const HostTensor& t : inputs) in.push_back(tensor_of(t));
  std::vector<wick_tensor> out(WICK_OF(library, wick_session_output_count)(session));
  ok(WICK_OF(library, wick_session_run)(session, in.data(), in.size(), out.data(), out.size(),
                                        nullptr),
     "run");
  for (const wick_tensor& t : out) {
    Shape shape;
    for (int i = 0; i < t.rank; ++i) shape.push_back(t.dims[i]);
    const TensorView view(t.data, static_cast<DType>(t.dtype), shape);
    run.outputs.emplace_back(view.dtype, view.shape, view.data, view.nbytes());
  }
  return run;
}

}  // namespace wick::tool
