# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Installs the C library to a folder and builds against what is there: a program by the package config and by
# pkg-config, and a plug-in. cmake -DBUILD=... -DWORK=... -DROOT=... -DCC=... -P check.cmake
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${prefix})
set(source ${ROOT}/examples/c/train_loader.c)
run(${CMAKE_COMMAND} -S ${ROOT}/tests/package -B ${WORK}/program -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${CC}
    -DSOURCE=${source})
run(${CMAKE_COMMAND} --build ${WORK}/program)
run(${CMAKE_COMMAND} -S ${ROOT}/examples/plugin -B ${WORK}/plugin -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_C_COMPILER=${CC} -DCMAKE_CUDA_COMPILER=NOTFOUND)
run(${CMAKE_COMMAND} --build ${WORK}/plugin)
file(GLOB_RECURSE pc ${prefix}/*/headrace.pc)
get_filename_component(folder "${pc}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
run(pkg-config --cflags --libs headrace)
separate_arguments(flags UNIX_COMMAND "${text}")
run(${CC} ${source} ${flags} -Wl,-rpath,${folder}/.. -o ${WORK}/by_pkg_config)
foreach(program IN ITEMS ${WORK}/program/by_package ${WORK}/by_pkg_config)
  run(${program} ${BUILD}/examples/c/pictures 3 2)
  if(NOT text MATCHES "192 images")
    message(FATAL_ERROR "${program}\n${text}")
  endif()
endforeach()
