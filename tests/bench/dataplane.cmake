find_package(benchmark REQUIRED)
add_executable(weir_bench_decision dataplane/bench_decision.cc)
target_link_libraries(weir_bench_decision PRIVATE weir_flags weir_core benchmark::benchmark)
target_include_directories(weir_bench_decision PRIVATE ${CMAKE_SOURCE_DIR}/tests)
