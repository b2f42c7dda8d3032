weir_test(weir_unit_engine engine/frame_reader_test.cc weir_engine nlohmann_json::nlohmann_json PkgConfig::mnl)
target_sources(weir_unit_engine PRIVATE
  engine/kernel_cache_test.cc
  engine/kernel_counters_test.cc
  engine/operations_test.cc
  engine/explain_test.cc
  engine/packet_path_test.cc
  engine/queue_message_test.cc
  engine/snapshot_intake_test.cc
  engine/stats_test.cc
  engine/table_file_test.cc
  engine/verdict_writer_test.cc
  engine/world_cell_test.cc)

# For the lab's tests under load.
add_executable(weir_steady_clients ../lab/steady_clients.cc)
target_link_libraries(weir_steady_clients PRIVATE weir_flags fmt::fmt)
