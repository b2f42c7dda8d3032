find_package(PkgConfig REQUIRED)
pkg_check_modules(mnl REQUIRED IMPORTED_TARGET libmnl)
weir_test(weir_unit_base base/daemon_options_test.cc weir_base nlohmann_json::nlohmann_json fmt::fmt PkgConfig::mnl)
target_sources(weir_unit_base PRIVATE
  base/background_log_test.cc
  base/flow_module_test.cc
  base/instance_lock_test.cc
  base/journal_test.cc
  base/kept_snapshots_test.cc
  base/log_limiter_test.cc
  base/log_test.cc
  base/manager_link_test.cc)
