# Run: bin/weir_fuzz_dialogues -max_total_time=60 -max_len=4096
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  pkg_check_modules(FUZZ_NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
  add_executable(weir_fuzz_dialogues health/fuzz_dialogues.cc)
  # The sources themselves, not the library: coverage is measured where the fuzzer must reach.
  foreach(source answer grpc_dialogue grpc_message http2_dialogue http2_stream http_body
      http_dialogue http_judge load_metrics text_dialogue)
    target_sources(weir_fuzz_dialogues PRIVATE
      ${CMAKE_SOURCE_DIR}/userspace/manager/health/${source}.cc)
  endforeach()
  target_compile_options(weir_fuzz_dialogues PRIVATE -fsanitize=fuzzer,address,undefined
    -fno-sanitize-recover=undefined)
  target_link_options(weir_fuzz_dialogues PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(weir_fuzz_dialogues PRIVATE weir_flags PkgConfig::FUZZ_NGHTTP2 fmt::fmt
    nlohmann_json::nlohmann_json)
  target_include_directories(weir_fuzz_dialogues PRIVATE ${CMAKE_SOURCE_DIR}/userspace)
  add_dependencies(weir_fuzzers weir_fuzz_dialogues)
endif()
