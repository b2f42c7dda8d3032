weir_test(weir_unit_config config/valid_test.cc weir_config)
target_sources(weir_unit_config PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/config/invalid_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/invalid_resources_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/export_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/hints_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/merge_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/directory_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/schema_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/every_field.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/reference_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/proxy_valid_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/proxy_invalid_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/proxy_hints_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/proxy_export_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/config/robustness_test.cc)
target_compile_definitions(weir_unit_config PRIVATE WEIR_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_libraries(weir_unit_config PRIVATE nlohmann_json::nlohmann_json yaml-cpp fmt::fmt)
