weir_test(weir_unit_control control/eligibility_test.cc weir_core weir_simulate)
target_sources(weir_unit_control PRIVATE
  control/endpoint_test.cc
  control/entries_test.cc
  control/numbers_test.cc
  control/saved_test.cc
  control/service_health_test.cc
  control/simulate_test.cc)

# `weirctl simulate` alone, for tests that need nothing else of weirctl.
add_executable(weir_simulate_cli control/simulate_main.cc)
target_link_libraries(weir_simulate_cli PRIVATE weir_flags weir_simulate)

# Scenarios with their right answers: the tree's own, and those beside it where there are some.
file(GLOB scenarios CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/scenarios/*.yaml
  ${CMAKE_SOURCE_DIR}/../shared/cases/*.yaml)
foreach(scenario ${scenarios})
  get_filename_component(name ${scenario} NAME_WE)
  add_test(NAME scenario_${name} COMMAND weir_simulate_cli --check ${scenario})
endforeach()
