// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a client of the API can send, as far as it comes: a request's target, JSON or YAML
// documents, a merge patch over them. What is accepted must be written as what is read as the same
// again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/edit_places.h"
#include "config/edit_values.h"
#include "config/problems.h"
#include "config/resources.h"
#include "config/write.h"
#include "manager/api/http.h"
#include "manager/api/value_json.h"

namespace {

using namespace weir::config;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<ValuePtr> yaml(std::string_view bytes) {
  const Text text({"fuzz", std::string(bytes)});
  Problems problems;
  return parse(text, problems).values;
}

void readAndWrite(std::vector<ValuePtr> documents) {
  EditPlaces places;
  for (ValuePtr& document : documents)
    document = places.add(withoutOutputFieldsInside(document), nullptr);
  const Text text = places.text();
  const Loaded loaded = loadDocuments({}, text, documents);
  for (const Finding& finding : places.translate(loaded.diagnostics))
    require(finding.toString().find("<request>") == std::string::npos);
  if (!loaded.ok()) return;
  const auto written = yamlText(
      *writtenConfiguration(writtenResources(loaded.configuration), &loaded.configuration.node));
  const Loaded again = load({"weir.yaml", written}, {});
  require(again.ok());
  const auto rewritten = yamlText(
      *writtenConfiguration(writtenResources(again.configuration), &again.configuration.node));
  require(written == rewritten);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      static_cast<void>(weir::manager::parseTarget(bytes));
      static_cast<void>(weir::manager::mediaType(bytes));
      break;
    case 1:
      if (auto value = weir::manager::valueFromJson(bytes); value.ok()) readAndWrite({*value});
      break;
    case 2:
      readAndWrite(yaml(bytes));
      break;
    case 3: {
      const std::size_t half = bytes.find('\0');
      auto target = weir::manager::valueFromJson(bytes.substr(0, half));
      if (!target.ok() || half == bytes.npos) break;
      auto patch = weir::manager::valueFromJson(bytes.substr(half + 1));
      if (patch.ok()) readAndWrite({mergePatch(*target, *patch)});
      break;
    }
  }
  return 0;
}
