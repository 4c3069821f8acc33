// lenet_static MODEL.wick [IMAGE.npy] [--time]: runs a model with Wick linked in, and only its ops'
// kernels, and prints the first output. Without an image the input is zeros. --time adds one line:
// the milliseconds to open the model, for the first run and for a later one, and the peak memory.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "wick/runtime.h"

namespace {

double now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

int fail(const char* what, const char* why) {
  fprintf(stderr, "lenet_static: %s: %s\n", what, why);
  return 1;
}

// Reads an .npy file of `descr` ("<f4") with exactly `bytes` of elements; returns null or the
// problem.
const char* read_npy(const char* path, const char* descr, void* to, size_t bytes) {
  FILE* f = fopen(path, "rb");
  if (f == nullptr) return "cannot open";
  unsigned char head[10];
  char text[4096];
  size_t length = 0;
  const char* wrong = nullptr;
  if (fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY\x01", 7) != 0) {
    wrong = "not an .npy file of version 1.0";
  } else {
    length = head[8] + 256u * head[9];
    if (length >= sizeof(text) || fread(text, 1, length, f) != length) wrong = "header cut short";
  }
  if (wrong == nullptr) {
    text[length] = '\0';
    if (strstr(text, descr) == nullptr) wrong = "its dtype is not the model's";
    if (strstr(text, "'fortran_order': True") != nullptr) wrong = "it is in Fortran order";
  }
  if (wrong == nullptr && (fread(to, 1, bytes, f) != bytes || fgetc(f) != EOF)) {
    wrong = "its size is not one input of the model";
  }
  fclose(f);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const char *model = nullptr, *image = nullptr;
  bool time = false;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--time") == 0) {
      time = true;
    } else {
      (model == nullptr ? model : image) = argv[i];
    }
  }
  if (model == nullptr) return fail("usage", "lenet_static MODEL.wick [IMAGE.npy] [--time]");

  double start = now_ms();
  auto program = wick::Program::load(model);
  if (!program.ok()) return fail("load", program.status().message());
  wick::SessionOptions options;
  wick::DimBinding batch{"batch", 1};
  if (!(*program)->symbols().empty()) options.max_dims = {&batch, 1};
  options.threads = 1;
  auto session = wick::Session::create(**program, options);
  if (!session.ok()) return fail("open", session.status().message());
  double opened = now_ms();

  wick::PortInfo port = (*session)->input(0);
  wick::Shape shape;
  for (const wick::DimDef& d : port.dims) shape.push_back(d.symbol >= 0 ? 1 : d.value);
  wick::TensorView in(nullptr, port.dtype, shape), out;
  in.data = calloc(in.nbytes() + 1, 1);
  if (in.data == nullptr) return fail("input", "out of memory");
  if (image != nullptr) {
    const char* descr = port.dtype == wick::DType::kU8 ? "'|u1'" : "'<f4'";
    if (const char* wrong = read_npy(image, descr, in.data, in.nbytes())) return fail(image, wrong);
  }

  double before = now_ms();
  wick::Status s = (*session)->run({&in, 1}, {&out, 1});
  if (!s.ok()) return fail("run", s.message());
  double first = now_ms();
  for (int64_t i = 0; i < out.numel(); ++i) printf("%.9g\n", out.as<float>()[i]);
  if (time) {
    constexpr int kRuns = 100;
    double again = now_ms();
    for (int i = 0; i < kRuns && s.ok(); ++i) s = (*session)->run({&in, 1}, {&out, 1});
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("open %.3f ms, first run %.3f ms, later %.4f ms, peak RSS %.1f MB\n", opened - start,
           first - before, (now_ms() - again) / kRuns, static_cast<double>(usage.ru_maxrss) / 1024);
  }
  free(in.data);
  return 0;
}
