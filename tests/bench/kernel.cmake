# What the tree of routing rules costs a packet, with few and with many backends; kernel/run.py
# runs it.
add_executable(weir_bench_rule_tree ${CMAKE_CURRENT_SOURCE_DIR}/kernel/rule_tree.cc)
target_link_libraries(weir_bench_rule_tree PRIVATE weir_flags weir_base weir_core weir_kernel)
