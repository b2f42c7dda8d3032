if(TARGET weir_health)
  weir_test(weir_unit_health manager/probe_test.cc weir_health weir_base weir_core)
  target_sources(weir_unit_health PRIVATE
    manager/answer_test.cc
    manager/dialogue_test.cc
    manager/grpc_message_test.cc
    manager/load_metrics_test.cc
    manager/monitor_test.cc
    manager/resumption_test.cc
    manager/schedule_test.cc
    manager/wire_test.cc)
  find_package(OpenSSL 3.0 REQUIRED)
  target_link_libraries(weir_unit_health PRIVATE OpenSSL::SSL fmt::fmt)

  # What the lab's tests against real servers drive.
  add_executable(weir_probe_driver ../lab/health/probe_driver.cc)
  target_link_libraries(weir_probe_driver PRIVATE weir_flags weir_health weir_config fmt::fmt
    nlohmann_json::nlohmann_json)
endif()
