weir_test(weir_unit_tables tables/affinity_test.cc weir_core)
target_sources(weir_unit_tables PRIVATE
  tables/hash_test.cc
  tables/maglev_test.cc
  tables/tracking_concurrency_test.cc
  tables/tracking_index_test.cc
  tables/tracking_recovery_test.cc
  tables/tracking_table_test.cc
  tables/tracking_wheel_test.cc)
