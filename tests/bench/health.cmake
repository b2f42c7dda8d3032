# The floor under probes of TLS types: OpenSSL's handshakes alone. health/run.py runs it.
find_package(OpenSSL 3.0 REQUIRED)
add_executable(weir_bench_tls_client ${CMAKE_CURRENT_SOURCE_DIR}/health/tls_client.cc)
target_link_libraries(weir_bench_tls_client PRIVATE weir_flags OpenSSL::SSL)
