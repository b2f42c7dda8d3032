if(TARGET weir_manager)
  weir_test(weir_unit_manager manager/threshold_test.cc weir_manager weir_base weir_core)
  target_sources(weir_unit_manager PRIVATE
    manager/api_test.cc
    manager/http_server_test.cc
    manager/kernel_wish_test.cc
    manager/manager_test.cc
    manager/metrics_reference_test.cc
    manager/metrics_test.cc
    manager/proxy_views_test.cc
    manager/publisher_test.cc
    manager/snapshot_server_test.cc
    manager/state_file_test.cc)
  target_compile_definitions(weir_unit_manager PRIVATE WEIR_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(weir_unit_manager PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
endif()
