# What the choice of a backend costs.
find_package(benchmark REQUIRED)
add_executable(weir_bench_pick proxy/bench_pick.cc)
target_link_libraries(weir_bench_pick PRIVATE weir_flags weir_core benchmark::benchmark)
target_include_directories(weir_bench_pick PRIVATE ${CMAKE_SOURCE_DIR}/tests)
