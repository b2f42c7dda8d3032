weir_test(weir_property_proxy proxy/placement_properties.cc weir_core rapidcheck)
target_sources(weir_property_proxy PRIVATE
  proxy/proxy_codec_properties.cc
  proxy/service_balancer_properties.cc)

# Where loads lie, in the simulator and in the model of proxy_load_model.py.
add_test(NAME proxy_load_agrees_with_model
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/compare_proxy_load.py $<TARGET_FILE:weir_simulate_cli>)
