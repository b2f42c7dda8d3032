weir_test(weir_unit_kernel kernel/rule_tree_test.cc weir_kernel weir_core)
target_sources(weir_unit_kernel PRIVATE
  kernel/change_log_test.cc
  kernel/connected_test.cc
  kernel/divert_test.cc
  kernel/event_filter_test.cc
  kernel/fake_kernel_state_test.cc
  kernel/next_hop_test.cc
  kernel/skipped_rules_test.cc)

# Against the real kernel, in network namespaces of its own: needs root.
add_executable(weir_lab_kernel
  ../lab/kernel/collision_test.cc
  ../lab/kernel/diversion_test.cc
  ../lab/kernel/events_test.cc
  ../lab/kernel/namespace.cc
  ../lab/kernel/neighbour_test.cc
  ../lab/kernel/next_hop_test.cc
  ../lab/kernel/repair_test.cc
  ../lab/kernel/routing_test.cc
  ../lab/kernel/scale_test.cc)
target_link_libraries(weir_lab_kernel PRIVATE weir_flags weir_kernel weir_core
  GTest::gtest GTest::gmock GTest::gtest_main)
target_include_directories(weir_lab_kernel PRIVATE ${CMAKE_SOURCE_DIR}/tests)
gtest_discover_tests(weir_lab_kernel DISCOVERY_TIMEOUT 60 PROPERTIES LABELS lab)
