# Takes a shader's module as glslc makes it without optimization, and optimizes, validates and lists it as words:
#   cmake -DNAME=path/of/shader -DOPTIMIZE=ON -DTOOLS=folder/spirv- -P embed.cmake     .spv to .spv and .inc
#
# No driver may fuse a product and a sum to an fma, or results would depend on the driver. `precise` in GLSL says so,
# but spirv-opt drops it in the copies of an unrolled loop's body, and fuses them itself. So loops are unrolled first,
# then every float sum, difference and product is decorated, then the rest is optimized. Where an fma is wanted the
# shaders call fma().
function(spirv tool)
  execute_process(COMMAND ${TOOLS}${tool} ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(count_fmas to)
  spirv(dis ${NAME}.spv -o ${NAME}.spvasm)
  file(READ ${NAME}.spvasm text)
  string(REGEX MATCHALL " Fma %" fmas "${text}")
  list(LENGTH fmas count)
  set(${to} ${count} PARENT_SCOPE)
endfunction()

# The passes with which spirv-opt -O begins, up to its loops.
set(unroll --strip-debug --wrap-opkill --eliminate-dead-branches --merge-return --inline-entry-points-exhaustive
  --eliminate-dead-functions --eliminate-dead-code-aggressive --private-to-local --eliminate-local-single-block
  --eliminate-local-single-store --eliminate-dead-code-aggressive --scalar-replacement=100 --convert-local-access-chains
  --eliminate-local-single-block --eliminate-local-single-store --eliminate-dead-code-aggressive --ssa-rewrite
  --eliminate-dead-code-aggressive --ccp --eliminate-dead-code-aggressive --loop-unroll --eliminate-dead-branches)
if(OPTIMIZE)
  spirv(opt ${unroll} ${NAME}.spv -o ${NAME}.spv)
endif()

count_fmas(meant)
file(READ ${NAME}.spvasm text)
string(REGEX REPLACE "[ \t]*OpDecorate %[A-Za-z0-9_]+ NoContraction\n" "" text "${text}")
string(REGEX MATCHALL "%[A-Za-z0-9_]+ = Op(FAdd|FSub|FMul|VectorTimesScalar) " results "${text}")
set(decorations "")
foreach(result IN LISTS results)
  string(REGEX REPLACE " = .*" "" id "${result}")
  string(APPEND decorations "OpDecorate ${id} NoContraction\n")
endforeach()
# Decorations come before the types.
string(REGEX MATCH "[^\n]* = OpType" first "${text}")
string(FIND "${text}" "${first}" at)
string(SUBSTRING "${text}" 0 ${at} head)
string(SUBSTRING "${text}" ${at} -1 tail)
file(WRITE ${NAME}.spvasm "${head}${decorations}${tail}")
spirv(as --target-env vulkan1.1 ${NAME}.spvasm -o ${NAME}.spv)

if(OPTIMIZE)
  spirv(opt -O ${NAME}.spv -o ${NAME}.spv)
endif()
count_fmas(made)
if(made GREATER meant)
  message(FATAL_ERROR "${NAME}: spirv-opt made ${made} fmas of ${meant}")
endif()

spirv(val --target-env vulkan1.1 ${NAME}.spv)
file(READ ${NAME}.spv bytes HEX)
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${bytes}")
file(WRITE ${NAME}.inc "${words}\n")
