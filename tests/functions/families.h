// THE list of families of function rows: X(family), whose rows are in family.cc and whose goldens
// in goldens/family.json.
#define WICK_FUNCTION_FAMILIES(X) \
  X(elementwise)                  \
  X(unary)                        \
  X(pointwise)                    \
  X(inplace)                      \
  X(reduce)                       \
  X(layout)                       \
  X(index)                        \
  X(sort)                         \
  X(scan)                         \
  X(arrange)                      \
  X(view)                         \
  X(linalg)                       \
  X(nn)                           \
  X(vision)                       \
  X(losses)                       \
  X(fft)                          \
  X(special)                      \
  X(random)                       \
  X(creation)                     \
  X(extremes)                     \
  X(unchanged)
