weir_test(weir_unit_proxy_core proxy/client_hello_test.cc weir_core)
target_sources(weir_unit_proxy_core PRIVATE
  proxy/locality_policy_test.cc
  proxy/placement_test.cc
  proxy/postgres_request_test.cc
  proxy/proxy_codec_test.cc
  proxy/proxy_header_test.cc
  proxy/proxy_plane_test.cc
  proxy/proxy_world_test.cc
  proxy/service_balancer_test.cc
  proxy/tls_routing_test.cc)

weir_test(weir_unit_proxy proxy/session_test.cc weir_proxy)
target_sources(weir_unit_proxy PRIVATE
  proxy/admission_test.cc
  proxy/handover_test.cc
  proxy/listening_test.cc
  proxy/postgres_session_test.cc
  proxy/questions_test.cc
  proxy/resolver_test.cc
  proxy/session_end_test.cc
  proxy/world_intake_test.cc)
target_link_libraries(weir_unit_proxy PRIVATE nlohmann_json::nlohmann_json)
