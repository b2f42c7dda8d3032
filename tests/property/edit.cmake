# Whatever is read can be written, and is read as the same again.
weir_test(weir_property_edit edit/write_property.cc weir_config rapidcheck)
target_sources(weir_property_edit PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/config/every_field.cc)
target_link_libraries(weir_property_edit PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
