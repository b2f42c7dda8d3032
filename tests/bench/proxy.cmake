# What the choice of a backend costs.
find_package(benchmark REQUIRED)
add_executable(weir_bench_pick proxy/bench_pick.cc)
target_link_libraries(weir_bench_pick PRIVATE weir_flags weir_core benchmark::benchmark)
target_include_directories(weir_bench_pick PRIVATE ${CMAKE_SOURCE_DIR}/tests)
# The traffic of `make bench-proxy`; proxy/run.py runs it.
foreach(program client server)
  add_executable(weir_bench_proxy_${program} ${CMAKE_CURRENT_SOURCE_DIR}/proxy/${program}.cc)
  target_link_libraries(weir_bench_proxy_${program} PRIVATE weir_flags weir_base)
  target_include_directories(weir_bench_proxy_${program} PRIVATE ${CMAKE_SOURCE_DIR}/tests
    ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
# Beside them, what a loop of Boost.Asio costs.
find_package(Boost 1.74 REQUIRED)
add_executable(weir_bench_proxy_asio ${CMAKE_CURRENT_SOURCE_DIR}/proxy/asio_relay.cc)
target_link_libraries(weir_bench_proxy_asio PRIVATE weir_flags Boost::boost Threads::Threads)
