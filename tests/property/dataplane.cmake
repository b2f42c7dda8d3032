weir_test(weir_property_dataplane dataplane/codec_properties.cc weir_core rapidcheck)
target_sources(weir_property_dataplane PRIVATE
  dataplane/decision_properties.cc
  dataplane/packet_properties.cc
  dataplane/rules_properties.cc)
