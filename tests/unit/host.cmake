weir_test(weir_unit_host host/sysctl_test.cc weir_wish weir_manager weir_kernel weir_core)
target_sources(weir_unit_host PRIVATE
  host/announced_test.cc
  host/engine_watch_test.cc
  host/fallback_test.cc
  host/frames_test.cc
  host/host_state_test.cc)
