if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_executable(weir_fuzz_client_hello proxy/fuzz_client_hello.cc
    ${CMAKE_SOURCE_DIR}/userspace/core/client_hello.cc
    ${CMAKE_SOURCE_DIR}/userspace/core/dns_name.cc
    ${CMAKE_SOURCE_DIR}/userspace/core/address.cc)
  target_include_directories(weir_fuzz_client_hello PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_options(weir_fuzz_client_hello PRIVATE -fsanitize=fuzzer,address,undefined
    -fno-sanitize-recover=undefined)
  target_link_options(weir_fuzz_client_hello PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(weir_fuzz_client_hello PRIVATE weir_flags fmt::fmt)
  add_dependencies(weir_fuzzers weir_fuzz_client_hello)
endif()
