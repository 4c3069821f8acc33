// Ops that come from ONNX files. The trainer's recurrent layers would be their own formulas.
#include "trainer/autograd/grad/common.h"

namespace wick {

WICK_NONDIFF(RNN, NonDiff::kInferenceOnly);
WICK_NONDIFF(GRU, NonDiff::kInferenceOnly);
WICK_NONDIFF(LSTM, NonDiff::kInferenceOnly);
WICK_NONDIFF(DFT, NonDiff::kInferenceOnly);
WICK_NONDIFF(TfIdfVectorizer, NonDiff::kIntegerOutput);

}  // namespace wick
