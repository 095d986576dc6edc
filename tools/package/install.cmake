# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# What `cmake --install` installs: the C library with its headers, a package config for find_package(headrace) and
# headrace.pc (component "library"); headers and package config for plug-ins, inside of the Python package (component
# "python").
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# headrace-config.cmake for headers in `include`; it is installed to `folder`.
function(hr_install_config component include folder)
  set(HR_INSTALL_INCLUDE ${include})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/package/${component})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/package/headrace-config.cmake.in ${made}/headrace-config.cmake
                                INSTALL_DESTINATION ${folder} PATH_VARS HR_INSTALL_INCLUDE
                                NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${made}/headrace-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${made}/headrace-config.cmake ${made}/headrace-config-version.cmake DESTINATION ${folder}
          COMPONENT ${component})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/headrace DESTINATION ${include} COMPONENT ${component})
endfunction()

if(HR_PYTHON)
  hr_install_config(python headrace/include headrace/cmake)
endif()
# The bill of materials of a wheel (PEP 770). HR_BUNDLED: the folder with the sources of the libraries inside.
if(HR_BUNDLED)
  set(sbom ${CMAKE_CURRENT_BINARY_DIR}/package/headrace.cdx.json)
  execute_process(COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/wheel/sbom.py ${PROJECT_VERSION}
                          ${HR_BUNDLED} "${CMAKE_CUDA_COMPILER_VERSION}" ${sbom} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${sbom} DESTINATION ${SKBUILD_METADATA_DIR}/sboms COMPONENT python)
endif()
hr_install_config(library ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)
install(TARGETS headrace EXPORT headrace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT headrace FILE headrace-targets.cmake NAMESPACE headrace::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/headrace COMPONENT library)
file(RELATIVE_PATH HR_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # from there
configure_file(${PROJECT_SOURCE_DIR}/tools/package/headrace.pc.in ${CMAKE_CURRENT_BINARY_DIR}/package/headrace.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/package/headrace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT library)
