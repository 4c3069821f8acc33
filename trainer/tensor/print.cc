#include "trainer/tensor/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <vector>

#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"

namespace wick {
namespace {

constinit PrintOptions g_options;

std::string formatted(const char* form, int precision, double v) {
  if (std::isnan(v)) return "nan";  // Python prints no sign
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[400];
  snprintf(text, sizeof text, form, precision, v);
  return text;
}

// The elements in view as double, and as text for integers.
struct Elements {
  explicit Elements(const Tensor& t) : floats(is_float(t.dtype())) {
    NoGrad guard;
    TracerScope untraced(nullptr);
    Tensor own = t.detach();
    if (floats) {
      reals = own.to(DType::kF64).to_vector<double>();
    } else if (t.dtype() == DType::kU64) {
      for (uint64_t v : own.to_vector<uint64_t>()) texts.push_back(std::to_string(v));
    } else {
      const bool truth = t.dtype() == DType::kBool;
      for (int64_t v : own.to(DType::kI64).to_vector<int64_t>()) {
        texts.push_back(truth ? (v != 0 ? "True" : "False") : std::to_string(v));
      }
    }
  }
  bool floats;
  std::vector<double> reals;
  std::vector<std::string> texts;
};

// The format of all elements of a tensor: PyTorch's _Formatter.
class Formatter {
 public:
  Formatter(const Elements& all, const std::vector<size_t>& shown) : all_(all) {
    if (!all.floats) {
      for (size_t i : shown) width_ = std::max(width_, all.texts[i].size());
      return;
    }
    double least = INFINITY, most = 0;
    for (size_t i : shown) {
      double v = std::fabs(all.reals[i]);
      if (!std::isfinite(v) || v == 0) continue;
      least = std::min(least, v), most = std::max(most, v);
      whole_ = whole_ && v == std::ceil(v);
    }
    if (most > 0) {
      sci_ = most / least > 1000 || most > 1e8 || (!whole_ && least < 1e-4);
      for (size_t i : shown) {
        double v = all.reals[i];
        if (!std::isfinite(v) || v == 0) continue;
        size_t n = plain(v).size();
        width_ = std::max(width_, n);
      }
    }
    if (g_options.sci_mode) sci_ = *g_options.sci_mode;
  }
  size_t width() const { return width_; }
  std::string operator()(size_t i) const {
    std::string s = all_.floats ? plain(all_.reals[i]) : all_.texts[i];
    if (s.size() < width_) s.insert(0, width_ - s.size(), ' ');
    return s;
  }

 private:
  std::string plain(double v) const {
    if (sci_) return formatted("%.*e", g_options.precision, v);
    if (!whole_) return formatted("%.*f", g_options.precision, v);
    std::string s = formatted("%.*f", 0, v);
    return std::isfinite(v) ? s + "." : s;
  }
  const Elements& all_;
  bool whole_ = true, sci_ = false;
  size_t width_ = 1;
};

class Printer {
 public:
  Printer(const Tensor& t, size_t indent)
      : shape_(t.raw_shape()),
        summarize_(t.layout().numel() > g_options.threshold),
        all_(t),
        format_(all_, in_view()),
        text_(body(0, 0, indent)) {}
  const std::string& text() const { return text_; }

 private:
  // Returns the indices of dimension d that are shown; -1 stands for the dots.
  std::vector<int64_t> visible(int d) const {
    std::vector<int64_t> at;
    const int64_t n = shape_[d], edge = g_options.edgeitems;
    const bool cut = summarize_ && n > 2 * edge;
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == edge) at.push_back(-1), i = n - edge;
      if (i < n) at.push_back(i);
    }
    return at;
  }
  void collect(int d, size_t base, std::vector<size_t>* out) const {
    if (d == shape_.rank()) return out->push_back(base);
    for (int64_t i : visible(d)) {
      if (i >= 0)
        collect(d + 1, base * static_cast<size_t>(shape_[d]) + static_cast<size_t>(i), out);
    }
  }
  std::vector<size_t> in_view() const {
    std::vector<size_t> v;
    collect(0, 0, &v);
    return v;
  }
  std::string body(int d, size_t base, size_t indent) const {
    if (d == shape_.rank()) return format_(base);
    const bool last = d == shape_.rank() - 1;
    std::vector<std::string> parts;
    for (int64_t i : visible(d)) {
      if (i < 0)
        parts.emplace_back(last ? " ..." : "...");
      else
        parts.push_back(body(d + 1, base * static_cast<size_t>(shape_[d]) + static_cast<size_t>(i),
                             indent + 1));
    }
    std::string text = "[";
    if (last) {
      const size_t line = static_cast<size_t>(g_options.linewidth), each = format_.width() + 2;
      const size_t per_line = std::max<size_t>(1, line > indent ? (line - indent) / each : 1);
      for (size_t i = 0; i < parts.size(); ++i) {
        if (i > 0 && i % per_line == 0) {
          text += ",\n";
          text.append(indent + 1, ' ');
        } else if (i > 0) {
          text += ", ";
        }
        text += parts[i];
      }
    } else {
      const size_t breaks = static_cast<size_t>(shape_.rank() - 1 - d);
      for (size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text.append(1, ',').append(breaks, '\n').append(indent + 1, ' ');
        text += parts[i];
      }
    }
    return text + "]";
  }

  Shape shape_;
  bool summarize_;
  Elements all_;
  Formatter format_;
  std::string text_;
};

std::string tuple_text(const Shape& s, const char* open, const char* close) {
  std::string text = open;
  for (int i = 0; i < s.rank(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(s[i]);
  }
  return text + close;
}

std::string dtype_suffix(DType t) {
  std::string text = "dtype=torch.";
  return text += dtype_name(t);
}

}  // namespace

void set_printoptions(const PrintOptions& options) { g_options = options; }
PrintOptions get_printoptions() { return g_options; }

std::string Tensor::to_string(Where where) const {
  if (!defined()) return "tensor(undefined)";
  if (Tracer* t = active_tracer()) t->on_read(*this, "to_string", where);
  constexpr char kPrefix[] = "tensor(";
  const size_t indent = sizeof kPrefix - 1;
  const bool usual = dtype() == DType::kF32 || dtype() == DType::kI64 || dtype() == DType::kBool;
  std::vector<std::string> suffixes;
  if (is_vulkan()) suffixes.push_back("device='" + device().to_string() + "'");
  std::string text = kPrefix;
  if (impl_->view.numel() == 0) {
    text += "[]";
    if (rank() != 1) suffixes.push_back("size=" + tuple_text(raw_shape(), "(", ")"));
    if (dtype() != DType::kF32) suffixes.push_back(dtype_suffix(dtype()));  // nothing shows int64
  } else {
    text += Printer(is_vulkan() ? detach().cpu(where) : *this, indent).text();
    if (!usual) suffixes.push_back(dtype_suffix(dtype()));
  }
  if (requires_grad()) {
    suffixes.push_back(is_leaf() ? "requires_grad=True"
                                 : "grad_fn=<" + impl()->grad_fn->name() + ">");
  }
  const size_t newline = text.rfind('\n');
  // PyTorch's own count, slightly more than the line's length
  size_t line = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  for (const std::string& s : suffixes) {
    if (line + s.size() + 2 > static_cast<size_t>(g_options.linewidth)) {
      text.append(",\n").append(indent, ' ').append(s);
      line = indent + s.size();
    } else {
      text.append(", ").append(s);
      line += s.size() + 2;
    }
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << t.to_string(); }
std::string size_text(const Shape& shape) { return "Size(" + tuple_text(shape, "[", "])"); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << size_text(shape); }

std::string info(const Tensor& t) {
  if (!t.defined()) return "undefined";
  std::string strides;
  for (int i = 0; i < t.rank(); ++i) {
    if (i > 0) strides += ", ";
    strides += std::to_string(t.strides()[i]);
  }
  std::string text =
      "shape " + tuple_text(t.raw_shape(), "[", "]") + ", strides [" + strides + "], " +
      dtype_name(t.dtype()) + ", " +
      std::to_string(t.layout().numel() * static_cast<int64_t>(dtype_size(t.dtype()))) +
      " bytes, " + std::string(t.is_contiguous() ? "contiguous" : "not contiguous");
  if (t.is_vulkan()) text += ", on " + t.device().to_string();
  if (t.requires_grad()) {
    text += t.is_leaf() ? ", requires grad" : ", from " + t.impl()->grad_fn->name();
  }
  if (!t.name().empty()) text += ", named '" + t.name() + "'";
  return text;
}

}  // namespace wick
