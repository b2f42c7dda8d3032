weir_test(weir_unit_control control/eligibility_test.cc weir_core)
target_sources(weir_unit_control PRIVATE
  control/endpoint_test.cc
  control/entries_test.cc
  control/numbers_test.cc
  control/saved_test.cc)

add_executable(weir_simulate_cli control/simulate_main.cc)
target_link_libraries(weir_simulate_cli PRIVATE weir_flags weir_simulate)
