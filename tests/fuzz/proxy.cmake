# The sources themselves, not weir_core: coverage is measured where the fuzzers must reach.
function(weir_proxy_fuzzer name)
  add_executable(${name} proxy/${name}.cc)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME weir_${name})
  foreach(source ${ARGN})
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/userspace/core/${source})
  endforeach()
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined
    -fno-sanitize-recover=undefined)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${name} PRIVATE weir_flags fmt::fmt)
  add_dependencies(weir_fuzzers ${name})
endfunction()

if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  weir_proxy_fuzzer(fuzz_client_hello client_hello.cc dns_name.cc address.cc)
  weir_proxy_fuzzer(fuzz_proxy_header proxy_header.cc address.cc)
endif()
