# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# HR_CUDA_OP_SOURCES: the files here, and the table of the operators, which this script writes in a build. Each line HR_CUDA_OP
# is an operator; those with the same kernels are in one file, so that these are compiled once.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  file(GLOB HR_CUDA_OP_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cu)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/cuda_ops.cu)
  add_custom_command(
    OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} "-DSOURCES=${HR_CUDA_OP_SOURCES}" -DOUT=${table} -P ${CMAKE_CURRENT_LIST_FILE}
    DEPENDS ${HR_CUDA_OP_SOURCES} ${CMAKE_CURRENT_LIST_FILE}
    VERBATIM)
  list(APPEND HR_CUDA_OP_SOURCES ${table})
  return()
endif()

set(text "// Made by src/cuda/ops/registry.cmake.\n#include \"cuda/ops/ops.h\"\n\nextern \"C\" {\n")
set(entries)
foreach(source IN LISTS SOURCES)
  file(STRINGS ${source} operators REGEX "^HR_CUDA_OP\\(")
  foreach(operator IN LISTS operators)
    string(REGEX REPLACE "^HR_CUDA_OP\\(([a-z0-9_]+),.*" "\\1" name "${operator}")
    string(APPEND text "extern const hr_cuda_op hr_cuda_op_${name};\n")
    string(APPEND entries "    &hr_cuda_op_${name},\n")
  endforeach()
endforeach()
string(APPEND text "const hr_cuda_op *const hr_cuda_ops[] = {\n${entries}    NULL};\n}\n")
file(WRITE ${OUT} "${text}")
