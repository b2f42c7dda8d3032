if(TARGET weir_cli)
  weir_test(weir_unit_cli cli/output_test.cc weir_cli weir_base weir_config)
  target_sources(weir_unit_cli PRIVATE
    cli/command_line_test.cc
    cli/completion_test.cc
    cli/configuration_test.cc
    cli/members_test.cc
    cli/operations_test.cc
    cli/reference_test.cc
    cli/resources_test.cc
    cli/top_test.cc
    cli/usage_test.cc
    cli/values_test.cc)
  target_link_libraries(weir_unit_cli PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_definitions(weir_unit_cli PRIVATE WEIR_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    WEIRCTL="$<TARGET_FILE:weirctl>")
  add_dependencies(weir_unit_cli weirctl)

  # Against the manager and the engine themselves, in one process.
  weir_test(weir_unit_cli_manager cli/manager_test.cc weir_cli weir_manager weir_engine weir_core)
  target_sources(weir_unit_cli_manager PRIVATE cli/explanation_test.cc)
  target_link_libraries(weir_unit_cli_manager PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_definitions(weir_unit_cli_manager PRIVATE WEIR_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endif()
