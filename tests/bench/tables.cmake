# What the lookup tables cost: hashing, Maglev, connection tracking.
find_package(benchmark REQUIRED)
add_executable(weir_bench_tables tables/hashing.cc tables/tracking_table.cc)
target_link_libraries(weir_bench_tables PRIVATE weir_flags weir_core benchmark::benchmark_main)
