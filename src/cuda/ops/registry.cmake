# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# HR_CUDA_OP_SOURCES: the files here, and the table of the operators, which is written to the build folder. A file with a line
# HR_CUDA_OP is an operator; others are what a family shares.
file(GLOB HR_CUDA_OP_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cu)
set(text "// Made by src/cuda/ops/registry.cmake.\n#include \"cuda/ops/ops.h\"\n\nextern \"C\" {\n")
set(entries)
foreach(source IN LISTS HR_CUDA_OP_SOURCES)
  file(STRINGS ${source} operator REGEX "^HR_CUDA_OP\\(")
  if(NOT operator)
    continue()
  endif()
  get_filename_component(name ${source} NAME_WE)
  string(APPEND text "extern const hr_cuda_op hr_cuda_op_${name};\n")
  string(APPEND entries "    &hr_cuda_op_${name},\n")
endforeach()
string(APPEND text "const hr_cuda_op *const hr_cuda_ops[] = {\n${entries}    NULL};\n}\n")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/cuda_ops.cu CONTENT "${text}" @ONLY)
list(APPEND HR_CUDA_OP_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/cuda_ops.cu)
