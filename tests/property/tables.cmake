weir_test(weir_property_tables tables/maglev_property.cc weir_core rapidcheck)
target_sources(weir_property_tables PRIVATE
  tables/affinity_property.cc
  tables/tracking_model_property.cc
  tables/tracking_recovery_property.cc)
