# Run: bin/weir_fuzz_api -max_total_time=60 -max_len=4096
# Not one of weir_fuzzers: it takes the configuration library built once more, which costs every check
# minutes.
# weir_unit_api sends damaged requests over a real socket in every check.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  find_package(yaml-cpp REQUIRED)
  file(GLOB fuzzed CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/userspace/config/*.cc)
  # The sources themselves, not the libraries: coverage is measured where the fuzzer must reach.
  add_executable(weir_fuzz_api api/fuzz_api.cc ${fuzzed}
    ${CMAKE_SOURCE_DIR}/userspace/manager/api/http.cc
    ${CMAKE_SOURCE_DIR}/userspace/manager/api/value_json.cc)
  target_compile_options(weir_fuzz_api PRIVATE -fsanitize=fuzzer,address,undefined
    -fno-sanitize-recover=undefined)
  target_link_options(weir_fuzz_api PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(weir_fuzz_api PRIVATE weir_flags weir_core yaml-cpp fmt::fmt
    nlohmann_json::nlohmann_json)
endif()
