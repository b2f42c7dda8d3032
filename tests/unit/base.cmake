weir_test(weir_unit_base base/daemon_options_test.cc weir_base nlohmann_json::nlohmann_json fmt::fmt)
target_sources(weir_unit_base PRIVATE
  base/instance_lock_test.cc
  base/journal_test.cc
  base/log_limiter_test.cc
  base/log_test.cc
  base/manager_link_test.cc)
