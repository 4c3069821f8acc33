// The reasons why ops have no shader, for `wick ops`.
#include "runtime/backend/vulkan/graph/rows.h"

namespace wick::vulkan {

static constexpr char kDataSized[] =
    "how much comes out the data decide, and a recorded command has its sizes before";
WICK_NO_VULKAN(NonZero, kDataSized);
WICK_NO_VULKAN(Unique, kDataSized);
WICK_NO_VULKAN(NonMaxSuppression, kDataSized);

WICK_NO_VULKAN(Shape, "its result is what the host knows already");
WICK_NO_VULKAN(Range, "it computes from three numbers that the host has");
WICK_NO_VULKAN(Dropout, "it changes nothing in a program, and passes take it out");

static constexpr char kViews[] = "nobody has written one: only captured programs have the op";
WICK_NO_VULKAN(SliceScatter, kViews);
WICK_NO_VULKAN(AsStrided, kViews);
WICK_NO_VULKAN(AsStridedScatter, kViews);

static constexpr char kBytes[] = "nobody has written one that gives the CPU's bytes";
WICK_NO_VULKAN(QLinearAveragePool, kBytes);
WICK_NO_VULKAN(QLinearGlobalAveragePool, kBytes);
WICK_NO_VULKAN(QLinearSoftmax, kBytes);

static constexpr char kStrings[] = "strings are in the host's memory";
WICK_NO_VULKAN(StringConcat, kStrings);
WICK_NO_VULKAN(StringSplit, kStrings);
WICK_NO_VULKAN(StringNormalizer, kStrings);
WICK_NO_VULKAN(CastString, kStrings);
WICK_NO_VULKAN(RegexFullMatch, kStrings);
static constexpr char kTables[] = "it follows tables, element after element, and computes little";
WICK_NO_VULKAN(TreeEnsemble, kTables);
WICK_NO_VULKAN(LookUp, kTables);
WICK_NO_VULKAN(TfIdfVectorizer, "it looks up n-grams of words, a search and no arithmetic");

static constexpr char kSequences[] = "a sequence is one packed value in the host's memory";
WICK_NO_VULKAN(SequenceConstruct, kSequences);
WICK_NO_VULKAN(SequenceInsert, kSequences);
WICK_NO_VULKAN(SequenceErase, kSequences);
WICK_NO_VULKAN(SequenceAt, kSequences);
WICK_NO_VULKAN(SequenceLength, kSequences);
WICK_NO_VULKAN(SplitToSequence, kSequences);
WICK_NO_VULKAN(ConcatFromSequence, kSequences);
WICK_NO_VULKAN(Optional, kSequences);
WICK_NO_VULKAN(OptionalHasElement, kSequences);
WICK_NO_VULKAN(OptionalGetElement, kSequences);

static constexpr char kRegions[] =
    "the session runs its regions, whose nodes have rows of their own";
WICK_NO_VULKAN(If, kRegions);
WICK_NO_VULKAN(Loop, kRegions);

}  // namespace wick::vulkan
