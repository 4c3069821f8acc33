#include "quantize/modules/int8.h"

#include "quantize/observe/observer.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/tensor/call.h"
#include "wick/error.h"

namespace wick::quantize {

Int8Tensor quantize_int8(const Arg& x) {
  if (!x.tensor.defined()) undefined_tensor("quantize_int8", x.where);
  if (x.tensor.raw().numel() == 0)
    throw_error("quantize_int8", "an empty tensor has no range", x.where);
  Observer observer({});
  observer.observe(host_copy(x.tensor));
  const QParams q = observer.params(DType::kI8, false);
  const Tensor scale = full({}, q.scale[0], DType::kF32, x.where),
               zero = full({}, q.zero_point[0], DType::kI8, x.where);
  return {call(OpId::kQuantizeLinear, QuantizeAttrs{},
               {{x.tensor.detach(), x.where}, {scale, x.where}, {zero, x.where}}),
          q.scale[0], q.zero_point[0]};
}

Tensor dequantize_int8(const Int8Tensor& q, Where where) {
  if (!q.values.defined() || q.values.dtype() != DType::kI8) {
    throw_error("dequantize_int8",
                std::string("takes int8 values, got ") +
                    (q.values.defined() ? dtype_name(q.values.dtype()) : "no tensor"),
                where);
  }
  check(QParams{{q.scale}, {q.zero_point}, DType::kI8, -1}, "dequantize_int8");
  return call(OpId::kDequantizeLinear, DequantizeAttrs{},
              {{q.values, where},
               {full({}, q.scale, DType::kF32, where), where},
               {full({}, q.zero_point, DType::kI8, where), where}});
}

}  // namespace wick::quantize
