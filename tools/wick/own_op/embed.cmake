# Writes a file as a C++ string: cmake -DOUT=x.cc -DIN=file -P embed.cmake
file(READ ${IN} text)
file(WRITE ${OUT} "#include \"tools/wick/own_op/own_op.h\"\n
namespace wick::tool {
const char* const kOpSkeleton = R\"wick(${text})wick\";
}  // namespace wick::tool\n")
