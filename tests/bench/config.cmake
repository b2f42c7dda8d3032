# What loading and checking a large configuration costs (`weirctl check`, reload).
add_executable(weir_bench_config ${CMAKE_CURRENT_LIST_DIR}/config/load_directory.cc)
target_link_libraries(weir_bench_config PRIVATE weir_flags weir_config fmt::fmt
  benchmark::benchmark_main)
target_include_directories(weir_bench_config PRIVATE ${CMAKE_SOURCE_DIR}/tests)
