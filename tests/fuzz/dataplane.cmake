# libFuzzer comes with clang. Run: bin/weir_fuzz_packet -max_total_time=60
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_executable(weir_fuzz_packet dataplane/fuzz_packet.cc
    ${CMAKE_SOURCE_DIR}/userspace/core/address.cc
    ${CMAKE_SOURCE_DIR}/userspace/core/packet.cc
    ${CMAKE_SOURCE_DIR}/userspace/core/proxy_snapshot_codec.cc
    ${CMAKE_SOURCE_DIR}/userspace/core/snapshot_codec.cc)
  # The sources themselves, not weir_core: coverage is measured where the fuzzer must reach.
  target_compile_options(weir_fuzz_packet PRIVATE -fsanitize=fuzzer,address,undefined
    -fno-sanitize-recover=undefined)
  target_link_options(weir_fuzz_packet PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(weir_fuzz_packet PRIVATE weir_flags fmt::fmt)
  add_dependencies(weir_fuzzers weir_fuzz_packet)
endif()
