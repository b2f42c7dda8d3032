weir_test(weir_unit_dataplane dataplane/address_test.cc weir_core)
target_sources(weir_unit_dataplane PRIVATE
  dataplane/packet_damage_test.cc
  dataplane/packet_test.cc
  dataplane/quoted_packet_test.cc)
