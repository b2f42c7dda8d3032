# What the engine costs per packet, beside a plain loop and a batched one; engine/run.py runs it.
foreach(program sender plain_loop batched_loop feeder)
  add_executable(weir_bench_${program} ${CMAKE_CURRENT_SOURCE_DIR}/engine/${program}.cc)
  target_link_libraries(weir_bench_${program} PRIVATE weir_flags weir_base)
endforeach()
pkg_check_modules(bench_netfilter_queue REQUIRED IMPORTED_TARGET libnetfilter_queue libnfnetlink)
target_link_libraries(weir_bench_plain_loop PRIVATE PkgConfig::bench_netfilter_queue)
target_link_libraries(weir_bench_batched_loop PRIVATE weir_engine)
target_link_libraries(weir_bench_feeder PRIVATE weir_core weir_kernel)
