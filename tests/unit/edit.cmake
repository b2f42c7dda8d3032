# Writing resources, and changing the configuration directory by command.
weir_test(weir_unit_edit edit/edit_test.cc weir_config)
target_sources(weir_unit_edit PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/edit/write_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/edit/replace_file_test.cc)
target_compile_definitions(weir_unit_edit PRIVATE WEIR_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_libraries(weir_unit_edit PRIVATE weir_base)
if(TARGET weir_manager)
  weir_test(weir_unit_api edit/api_edit_test.cc weir_manager weir_kernel weir_base weir_core)
  target_sources(weir_unit_api PRIVATE
    ${CMAKE_CURRENT_LIST_DIR}/edit/api_diff_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/edit/api_robustness_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/edit/lost_directory_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/edit/peer_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/edit/value_json_test.cc)
  target_link_libraries(weir_unit_api PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
endif()
