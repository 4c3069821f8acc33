#include "quantize/report/error_sums.h"

#include <algorithm>
#include <cmath>

#include "wick/error.h"

namespace wick::quantize {

double decibels(double signal, double error) {
  if (error == 0) return kExactDb;
  if (signal == 0) return -kExactDb;
  return std::clamp(10 * std::log10(signal / error), -kExactDb, kExactDb);
}

void ErrorSums::add(const HostTensor& x, const HostTensor& y, int axis, size_t part) {
  const Shape& s = x.shape();
  if (x.dtype() != DType::kF32 || y.dtype() != DType::kF32 || !(s == y.shape())) {
    throw_error("compare", std::string("two tensors that cannot be compared: ") +
                               dtype_name(x.dtype()) + to_text(s).text + " and " +
                               dtype_name(y.dtype()) + to_text(y.shape()).text);
  }
  if (axis >= s.rank()) axis = -1;
  int64_t inner = 1;
  for (int d = axis + 1; d < s.rank(); ++d) inner *= s[d];
  int64_t channels = axis < 0 ? 1 : s[axis];
  if (parts_.size() <= part) parts_.resize(part + 1);
  std::vector<Sums>& sums_of = parts_[part];
  if (sums_of.empty()) sums_of.resize(static_cast<size_t>(channels));
  if (static_cast<int64_t>(sums_of.size()) != channels) {  // the data's own size: no channels
    Sums all;
    for (const Sums& c : sums_of) all.xx += c.xx, all.yy += c.yy, all.xy += c.xy, all.ee += c.ee;
    sums_of.assign(1, all);
    channels = 1;
  }
  const float *a = x.as<float>(), *b = y.as<float>();
  float most = 0;
  for (int64_t at = 0; at < x.numel(); at += inner) {
    Sums& sums = sums_of[static_cast<size_t>(at / inner % channels)];
    Sums row;
    for (int64_t i = at; i < at + inner; ++i) {
      if (!std::isfinite(a[i])) continue;                 // a mask
      const float y = std::isfinite(b[i]) ? b[i] : 0.0F;  // all of it is lost
      const double u = a[i], v = y, e = u - v;
      row.xx += u * u, row.yy += v * v, row.xy += u * v, row.ee += e * e;
      most = std::max(most, std::fabs(a[i] - y));
    }
    sums.xx += row.xx, sums.yy += row.yy, sums.xy += row.xy, sums.ee += row.ee;
  }
  max_error_ = std::max(max_error_, static_cast<double>(most));
}

void ErrorSums::add_output(const HostTensor& x, const HostTensor& y) {
  const bool alike = y.dtype() == DType::kF32 && y.shape() == x.shape();
  add(x, alike ? y : HostTensor(DType::kF32, x.shape()), -1);
}

ErrorNumbers ErrorSums::numbers() const {
  // A channel may be exact: it must not count for more than others at their best.
  constexpr double kMostOfChannel = 100;
  Sums all;
  double sum = 0;
  int64_t heard = 0;
  for (const std::vector<Sums>& part : parts_) {
    for (const Sums& c : part) {
      all.xx += c.xx, all.yy += c.yy, all.xy += c.xy, all.ee += c.ee;
      if (c.xx == 0) continue;
      sum += std::clamp(decibels(c.xx, c.ee), -kMostOfChannel, kMostOfChannel);
      ++heard;
    }
  }
  ErrorNumbers n;
  n.sqnr_db = decibels(all.xx, all.ee);
  n.channel_db = n.exact() || heard == 0 ? n.sqnr_db : sum / static_cast<double>(heard);
  if (all.ee > 0) n.cosine = all.xx > 0 && all.yy > 0 ? all.xy / std::sqrt(all.xx * all.yy) : 0;
  n.max_error = max_error_;
  return n;
}

}  // namespace wick::quantize
