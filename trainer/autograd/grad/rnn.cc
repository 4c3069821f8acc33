// Ops that come from ONNX files. The trainer's recurrent layers would be their own formulas.
#include "trainer/autograd/grad/common.h"

namespace wick {

WICK_NONDIFF(RNN, NonDiff::kInferenceOnly);
WICK_NONDIFF(GRU, NonDiff::kInferenceOnly);
WICK_NONDIFF(LSTM, NonDiff::kInferenceOnly);
WICK_NONDIFF(DFT, NonDiff::kInferenceOnly);
WICK_NONDIFF(TfIdfVectorizer, NonDiff::kIntegerOutput);
WICK_NONDIFF(SequenceConstruct, NonDiff::kInferenceOnly);
WICK_NONDIFF(SequenceInsert, NonDiff::kInferenceOnly);
WICK_NONDIFF(SequenceErase, NonDiff::kInferenceOnly);
WICK_NONDIFF(SequenceAt, NonDiff::kInferenceOnly);
WICK_NONDIFF(SequenceLength, NonDiff::kIntegerOutput);
WICK_NONDIFF(SplitToSequence, NonDiff::kInferenceOnly);
WICK_NONDIFF(ConcatFromSequence, NonDiff::kInferenceOnly);
WICK_NONDIFF(Optional, NonDiff::kInferenceOnly);
WICK_NONDIFF(OptionalHasElement, NonDiff::kIntegerOutput);
WICK_NONDIFF(OptionalGetElement, NonDiff::kInferenceOnly);

}  // namespace wick
