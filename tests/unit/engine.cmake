weir_test(weir_unit_engine engine/frame_reader_test.cc weir_engine nlohmann_json::nlohmann_json)
target_sources(weir_unit_engine PRIVATE
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
