weir_test(weir_property_control control/control_plane_property.cc weir_core weir_config
  weir_simulate rapidcheck)
target_sources(weir_property_control PRIVATE control/plain_yaml_property.cc)

# The same 300 random histories in the simulator and in the model of model.py.
add_test(NAME model_agrees_with_simulator
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/compare_with_model.py $<TARGET_FILE:weir_simulate_cli>)
