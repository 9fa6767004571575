# Languages, warnings and sanitizers of all targets.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(DTRACE_SANITIZE "build with AddressSanitizer and UBSan" OFF)
option(DTRACE_FUZZERS "build the libFuzzer targets (clang only)" OFF)
set(DTRACE_FUZZ_OPTIMIZATION "-O1" CACHE STRING "optimization level of the libFuzzer targets")
# A unity build takes a third of the time. But a change to one file then recompiles all files of its folder, so the
# preset `debug` leaves the option off. The folders dif, ptrace-agent/runtime and usdt/library override the option.
option(CMAKE_UNITY_BUILD "compile the C++ files of a folder together" OFF)
if(CMAKE_UNITY_BUILD)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()

add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
# Assertions remain enabled in release builds.
foreach(lang C CXX)
  string(REPLACE "-DNDEBUG" "" CMAKE_${lang}_FLAGS_RELEASE "${CMAKE_${lang}_FLAGS_RELEASE}")
  string(REPLACE "-O3" "-O2" CMAKE_${lang}_FLAGS_RELEASE "${CMAKE_${lang}_FLAGS_RELEASE}")
endforeach()
if(DTRACE_FUZZERS)
  # Instrument all targets, so that libFuzzer also observes branches in the libraries. -O1 makes the fuzzers faster than
  # -O0, but compilation takes three times as long.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined -g1 ${DTRACE_FUZZ_OPTIMIZATION})
  add_link_options(-fsanitize=address,undefined)
endif()
if(DTRACE_SANITIZE)
  # -g1 is enough for the stacks in the sanitizers' reports, and saves a sixth of the compile time. tests/ uses -g,
  # because some test programs read their own debug data.
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined -g1)
  add_link_options(-fsanitize=address,undefined)
  # With sanitizers, clang compiles C++ twice as fast as gcc. Tests use __SANITIZE_ADDRESS__, which clang does not
  # define. -fsanitize=function would put data into functions that tests trace.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-D__SANITIZE_ADDRESS__>
                      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>)
endif()
