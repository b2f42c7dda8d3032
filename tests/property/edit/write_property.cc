// SPDX-License-Identifier: GPL-2.0-or-later
//
// read(write(c)) == c for every valid configuration c. The configurations come from those in which
// every declared field is written, with members and items taken out and values replaced: a field
// that is new in a schema is covered as soon as it is read.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "config/load.h"
#include "config/write.h"
#include "unit/config/every_field.h"

namespace weir::config {
namespace {

using test::Json;
using Pointer = Json::json_pointer;

std::string text(const Configuration& configuration) {
  return yamlText(*writtenConfiguration(writtenResources(configuration), &configuration.node));
}

// In the order of the normal form.
Configuration sorted(Configuration configuration) {
  forEachCollection(configuration, [](std::string_view, auto& resources) {
    std::sort(resources.begin(), resources.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  });
  return configuration;
}

// Every place in a document; those of texts also by themselves, to take others from.
void collect(const Json& value, const Pointer& at, std::vector<Pointer>& places,
             std::vector<std::string>& texts) {
  places.push_back(at);
  if (value.is_string()) texts.push_back(value.get<std::string>());
  if (value.is_object())
    for (const auto& [key, child] : value.items()) collect(child, at / key, places, texts);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) collect(value[i], at / i, places, texts);
}

// Words of enums that no full configuration happens to have.
const std::vector<std::string> kWords{"UDP",
                                      "UNSPECIFIED",
                                      "NONE",
                                      "CLIENT_IP_PROTO",
                                      "PER_CONNECTION",
                                      "ALWAYS_PERSIST",
                                      "EXTERNAL",
                                      "INTERNAL_MANAGED",
                                      "GCE_VM_IP_PORT",
                                      "INTERNET_IP_PORT",
                                      "MAGLEV",
                                      "ROUND_ROBIN",
                                      "RING_HASH",
                                      "RATE",
                                      "UTILIZATION",
                                      "L3_DEFAULT",
                                      "ROUTE",
                                      "PROXY_V1",
                                      "IPV6_ONLY",
                                      "NEAREST",
                                      "off",
                                      "error",
                                      "WATERFALL_BY_ZONE",
                                      "SPRAY_TO_WORLD",
                                      "USE_SERVING_PORT",
                                      "true",
                                      "0",
                                      "a b: #c",
                                      "10.7.0.1",
                                      "fd00::7",
                                      "0.0.0.0/0",
                                      "2001:db8::/32",
                                      "zb",
                                      "g2",
                                      "[::1]:80",
                                      "\xc3\xa9\"'"};

void damage(Json& document) {
  std::vector<Pointer> places;
  std::vector<std::string> texts = kWords;
  collect(document, Pointer(), places, texts);
  const Pointer at = *rc::gen::elementOf(places);
  if (at.empty()) return;
  Json& value = document[at];
  Json& around = document[at.parent_pointer()];
  const bool takeOut = *rc::gen::inRange(0, 3) == 0;
  if (takeOut && around.is_object()) {
    around.erase(at.back());
  } else if (takeOut) {
    around.erase(std::stoul(at.back()));
  } else if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_number()) {
    value = *rc::gen::element<Json>(0, 1, 2, 3, 5, 60, 80, 600, 1000, 0.1, 0.25, 1e-7,
                                    0.3333333333333333);
  } else if (value.is_string()) {
    value = *rc::gen::elementOf(texts);
  } else if (value.is_array() && !value.empty()) {
    value.push_back(value[*rc::gen::inRange<std::size_t>(0, value.size())]);
  }
}

TEST(NormalForm, IsReadAsWhatItWasWrittenFrom) {
  std::size_t valid = 0, tried = 0;
  EXPECT_TRUE(rc::check("damaged full configurations", [&] {
    for (int i = 0; i < 30; ++i) {
      Json document = *rc::gen::elementOf(test::fullConfigurations());
      for (int edits = *rc::gen::inRange(0, 5); edits > 0; --edits) damage(document);
      const Loaded loaded = load({"weir.yaml", document.dump()}, {});
      ++tried;
      if (!loaded.ok()) continue;
      ++valid;
      const std::string written = text(loaded.configuration);
      const Loaded again = load({"weir.yaml", written}, {});
      if (!again.ok()) RC_FAIL(again.diagnostics.at(0).toString() + "\n" + written);
      if (sorted(loaded.configuration) != again.configuration)
        RC_FAIL(document.dump() + "\nis not\n" + written);
      RC_ASSERT(text(again.configuration) == written);
    }
  }));
  EXPECT_GT(valid * 10, tried) << "too few of the damaged configurations are valid";
}

TEST(NormalForm, HasEveryFieldThatIsRead) {
  for (const Json& document : test::fullConfigurations()) {
    const Loaded loaded = load({"weir.yaml", document.dump()}, {});
    ASSERT_TRUE(loaded.ok()) << loaded.diagnostics.at(0).toString();
    const Loaded again = load({"weir.yaml", text(loaded.configuration)}, {});
    ASSERT_TRUE(again.ok()) << again.diagnostics.at(0).toString();
    EXPECT_EQ(sorted(loaded.configuration), again.configuration);
  }
}

}  // namespace
}  // namespace weir::config
