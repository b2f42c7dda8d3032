// SPDX-License-Identifier: GPL-2.0-or-later
//
// docs/configuration.md and packaging/examples/ say what the declarations say.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "config/collections.h"
#include "config/resource_schemas.h"
#include "fixture.h"

namespace weir::config::test {
namespace {

namespace fs = std::filesystem;
using Use = FieldInfo::Use;

const fs::path kRoot = WEIR_SOURCE_DIR;

std::string readAll(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// What the reference says of one mapping.
struct Section {
  std::map<std::string, std::pair<std::string, std::string>> rows;  // key -> allowed, default
  std::set<std::string> ignored;
  std::set<std::string> refused;
};

using Sections = std::map<std::string, Section>;

std::string allowedAsDocumented(const FieldInfo& field) {
  if (field.mapping != nullptr) return field.list ? "list of mappings" : "mapping";
  return field.list ? "list; each " + field.allowed : field.allowed;
}

std::string defaultAsDocumented(const FieldInfo& field) {
  if (field.required) return "required";
  if (field.defaultValue.empty()) return "none";
  const bool isInWords = field.defaultValue.find(' ') != std::string::npos;
  return isInWords ? field.defaultValue : "`" + field.defaultValue + "`";
}

void declared(const MappingInfo& mapping, const std::string& path, Sections& out) {
  Section& section = out[path];
  for (const FieldInfo& field : mapping.fields) {
    if (field.use == Use::ignored) section.ignored.insert(field.name);
    if (field.use == Use::refused) section.refused.insert(field.name);
    if (field.use != Use::read) continue;
    section.rows[field.name] = {allowedAsDocumented(field), defaultAsDocumented(field)};
    const std::string inner = path == "weir.yaml" ? field.name : path + "." + field.name;
    if (field.mapping != nullptr) declared(*field.mapping, inner + (field.list ? "[]" : ""), out);
  }
}

Sections declaredSections() {
  Sections out;
  declared(nodeFields(), "weir.yaml", out);
  for (const CollectionInfo& c : collections()) declared(c.item(), std::string(c.name) + "[]", out);
  return out;
}

// The words between backticks.
std::vector<std::string> ticked(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    out.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return out;
}

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> out;
  std::istringstream stream(row);
  std::string cell;
  while (std::getline(stream, cell, '|')) {
    const std::size_t first = cell.find_first_not_of(' ');
    const std::size_t last = cell.find_last_not_of(' ');
    out.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return out;
}

// "### `path`" begins the section of a mapping; rows begin with "| `key`".
Sections documentedSections() {
  Sections out;
  std::istringstream stream(readAll(kRoot / "docs" / "configuration.md"));
  std::string line;
  Section* section = nullptr;
  while (std::getline(stream, line)) {
    if (line.rfind("## ", 0) == 0) section = nullptr;
    if (line.rfind("### `", 0) == 0) section = &out[ticked(line).at(0)];
    if (section == nullptr) continue;
    if (line.rfind("| `", 0) == 0) {
      const auto columns = cells(line);
      EXPECT_EQ(columns.size(), 5u) << line;
      if (columns.size() != 5) continue;
      EXPECT_FALSE(columns[4].empty()) << line;
      section->rows[ticked(columns[1]).at(0)] = {columns[2], columns[3]};
    }
    if (line.rfind("Ignored: ", 0) == 0)
      for (const auto& name : ticked(line)) section->ignored.insert(name);
    if (line.rfind("Refused: ", 0) == 0)
      for (const auto& name : ticked(line)) section->refused.insert(name);
  }
  return out;
}

TEST(Reference, SaysWhatTheDeclarationsSay) {
  const Sections inCode = declaredSections();
  const Sections inText = documentedSections();
  std::set<std::string> paths;
  for (const auto& [path, section] : inCode) paths.insert(path);
  for (const auto& [path, section] : inText) paths.insert(path);
  EXPECT_GT(paths.size(), 20u);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(inText.contains(path)) << "not documented";
    ASSERT_TRUE(inCode.contains(path)) << "documented but not declared";
    EXPECT_EQ(inText.at(path).rows, inCode.at(path).rows);
    EXPECT_EQ(inText.at(path).ignored, inCode.at(path).ignored);
    EXPECT_EQ(inText.at(path).refused, inCode.at(path).refused);
  }
}

TEST(Reference, ItsExamplesAreValid) {
  std::istringstream stream(readAll(kRoot / "docs" / "configuration.md"));
  std::string line, text;
  bool inside = false;
  std::size_t examples = 0;
  while (std::getline(stream, line)) {
    if (line == "```yaml") {
      inside = true;
      text.clear();
    } else if (line == "```" && inside) {
      inside = false;
      ++examples;
      const auto found = errors(loadText(text));
      EXPECT_TRUE(found.empty()) << text << all(found);
    } else if (inside) {
      text += line + "\n";
    }
  }
  EXPECT_GE(examples, 1u);
}

std::vector<fs::path> examples() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(kRoot / "packaging" / "examples"))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Examples, EachIsValidAndQuiet) {
  ASSERT_GE(examples().size(), 7u);
  for (const fs::path& path : examples()) {
    const Loaded loaded = loadDirectory(path);
    EXPECT_TRUE(loaded.ok()) << all(loaded.diagnostics);
    EXPECT_TRUE(loaded.diagnostics.empty()) << all(loaded.diagnostics);
  }
}

// With every setting's comment sign taken off it is valid too, and says the defaults.
TEST(Examples, WeirYamlShowsEverySettingWithItsDefault) {
  std::string text;
  std::istringstream stream(readAll(kRoot / "packaging" / "examples" / "weir.yaml"));
  std::string line;
  while (std::getline(stream, line)) {
    // "#key: value" is a setting, "# words" a comment.
    const bool isSetting = line.size() > 1 && line[0] == '#' && line[1] != ' ' && line[1] != '#';
    text += (isSetting ? line.substr(1) : line) + "\n";
  }
  const Loaded loaded = loadText(text);
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  Node node = loaded.configuration.node;
  // Where this node is has no default; the file shows how it is written.
  EXPECT_FALSE(node.region.empty());
  EXPECT_FALSE(node.zone.empty());
  EXPECT_FALSE(node.zones.empty());
  EXPECT_FALSE(node.proximityMs.empty());
  node.region.clear();
  node.zone.clear();
  node.zones.clear();
  node.proximityMs.clear();
  EXPECT_EQ(node, Node{});
  for (const FieldInfo& field : nodeFields().fields) {
    if (field.use != Use::read) continue;
    EXPECT_THAT(text, testing::HasSubstr("\n" + field.name + ":"));
    if (field.mapping == nullptr) continue;
    for (const FieldInfo& inner : field.mapping->fields)
      EXPECT_THAT(text, testing::HasSubstr(inner.name + ":"));
  }
}

}  // namespace
}  // namespace weir::config::test
