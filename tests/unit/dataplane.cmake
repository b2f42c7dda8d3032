weir_test(weir_unit_dataplane dataplane/address_test.cc weir_core)
target_sources(weir_unit_dataplane PRIVATE
  dataplane/decide_test.cc
  dataplane/icmp_error_test.cc
  dataplane/packet_damage_test.cc
  dataplane/packet_test.cc
  dataplane/quoted_packet_test.cc
  dataplane/route_test.cc
  dataplane/rules_test.cc
  dataplane/service_test.cc
  dataplane/snapshot_codec_test.cc
  dataplane/world_test.cc)
