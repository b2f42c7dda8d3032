// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <system_error>

#include "config/checks.h"
#include "config/collections.h"
#include "config/kept.h"
#include "config/read_file.h"
#include "config/resource_schemas.h"
#include "config/resources.h"
#include "config/utf8.h"
#include "config/words.h"

namespace weir::config {
namespace {

namespace fs = std::filesystem;
using Holds = DocumentReader::Holds;

// One run: texts live until the last message is made.
class Run {
 public:
  Run() = default;
  explicit Run(const Configuration& base) : draft_(Draft::from(base)) {}

  Problems& problems() noexcept { return problems_; }
  Draft& draft() noexcept { return draft_; }

  const Text& keep(const Source& source) { return texts_.emplace_back(source); }

  void readSource(const Source& source, Holds holds, std::size_t most = kMaxFileBytes) {
    const Text& text = keep(source);
    readDocuments(text, parseText(text, most), holds);
  }

  std::vector<ValuePtr> parseText(const Text& text, std::size_t most = kMaxFileBytes) {
    if (text.bytes().size() > most) {
      problems_.fileError(text.name(),
                          fmt::format("the file is larger than {} MiB; split it", most >> 20));
      draft_.incompleteFiles.push_back(text.name());
      return {};
    }
    Documents documents = parse(text, problems_);
    if (!documents.complete) draft_.incompleteFiles.push_back(text.name());
    documents_.insert(documents_.end(), documents.values.begin(), documents.values.end());
    return std::move(documents.values);
  }

  void readDocuments(const Text& text, const std::vector<ValuePtr>& values, Holds holds) {
    Reader reader(text, problems_);
    DocumentReader documents(reader, draft_, holds);
    for (const ValuePtr& value : values) documents.read(value);
  }

  void incomplete(const std::string& file, std::string message) {
    problems_.fileError(file, std::move(message));
    draft_.incompleteFiles.push_back(file);
  }

  // The rules between resources, then what came out.
  Loaded finish() {
    checkAll(draft_, problems_);
    return take();
  }

  Loaded take() {
    Loaded loaded;
    loaded.diagnostics = problems_.take();
    if (loaded.ok()) loaded.configuration = draft_.finish();
    loaded.definitions = std::move(draft_.definitions);
    return loaded;
  }

 private:
  std::deque<Text> texts_;
  std::vector<ValuePtr> documents_;
  Problems problems_;
  Draft draft_;
};

// A path as messages name it.
std::string nameOf(const fs::path& path) { return escaped(path.string()); }

// Reads a regular file, or notes why it cannot be read.
std::optional<Source> readFile(const fs::path& path, Run& run) {
  auto text = readWholeFile(path);
  if (text) return Source{nameOf(path), std::move(*text)};
  run.incomplete(nameOf(path), text.error().message);
  return std::nullopt;
}

// A dangling link is there, and a mistake; only what is not there at all counts as empty.
bool isThere(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

// Names that begin with a dot are editors' and are passed over, as a shell's *.yaml does.
bool isPassedOver(const fs::path& path) { return path.filename().string().front() == '.'; }

std::string lowerCase(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// Names that are easily taken for one that is read: a.YAML, a.yml, a.json.
bool looksReadable(const fs::path& path) {
  const std::string ending = lowerCase(path.extension().string());
  return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

// conf.d's files in name order.
std::vector<fs::path> resourceFiles(const fs::path& directory, Run& run) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (isPassedOver(path)) continue;
    std::error_code ignored;
    if (path.extension() == ".yaml")
      files.push_back(path);
    else if (looksReadable(path))
      run.problems().fileWarning(nameOf(path), "is not read: its name does not end in .yaml");
    else if (fs::is_directory(path, ignored))
      run.problems().fileHint(nameOf(path), "is not read: conf.d has no directories below it");
  }
  if (error && isThere(directory))
    run.incomplete(nameOf(directory), fmt::format("cannot be read: {}", error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

// Files beside weir.yaml are easily taken for a part of the configuration, or for weir.yaml itself.
void hintUnread(const fs::path& directory, Run& run) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (!looksReadable(path) || path.filename() == "weir.yaml" || isPassedOver(path)) continue;
    if (lowerCase(path.stem().string()) == "weir") {
      run.problems().fileWarning(
          nameOf(path), "is not read: the settings of this node are read from weir.yaml alone");
      continue;
    }
    run.problems().fileHint(nameOf(path),
                            "is not read: of this directory weir reads weir.yaml and "
                            "conf.d/*.yaml; `weirctl check` can be given the file alone");
  }
}

// weir.yaml and conf.d, with an overlay in the place of one file.
void readDirectory(const fs::path& directory, const Overlay* overlay, Run& run) {
  hintUnread(directory, run);
  const fs::path nodeFile = directory / "weir.yaml";
  if (isThere(nodeFile))
    if (const auto source = readFile(nodeFile, run))
      run.readSource(*source, Holds::nodeAndResources);
  const fs::path resources = directory / "conf.d";
  if (overlay == nullptr && !isThere(resources) && run.draft().definitions.empty() &&
      run.problems().errors() == 0)
    run.problems().fileWarning(
        nameOf(resources),
        "is missing: there are no resources at all; they are read from files in this directory");
  std::vector<fs::path> files = resourceFiles(resources, run);
  if (overlay != nullptr) {
    const auto place = std::lower_bound(files.begin(), files.end(), overlay->file);
    if (place == files.end() || *place != overlay->file) files.insert(place, overlay->file);
  }
  for (const fs::path& file : files) {
    if (overlay != nullptr && file == overlay->file)
      run.readDocuments(overlay->text, overlay->documents, Holds::resources);
    else if (const auto source = readFile(file, run))
      run.readSource(*source, Holds::resources);
  }
}

// The settings and collections of a scenario, whose document is a mapping.
void readScenario(const Value& document, Reader& reader, Draft& draft) {
  DocumentReader resources(reader, draft, Holds::resources);
  for (const Value::Entry& entry : document.entries) {
    const Reader::Scope scope(reader, entry.key);
    if (entry.key == "node" && entry.value->kind != Value::Kind::null) {
      auto& node = draft.node;
      node.text = &reader.text();
      node.tree = entry.value;
      reader.watch(*entry.value, [&] { readNode(*entry.value, node.value, reader); });
      node.broken = reader.problems().isWrong(*entry.value);
    } else if (entry.key == "resources" && entry.value->kind != Value::Kind::null) {
      if (entry.value->kind == Value::Kind::mapping)
        resources.readCollections(entry.value);
      else
        reader.mustBe(*entry.value, "a mapping of collections");
    } else if (entry.key != "events" && entry.key != "expect" && entry.key != "node" &&
               entry.key != "resources") {
      const std::vector<std::string> known{"node", "resources", "events", "expect"};
      reader.error(entry.mark, fmt::format("unknown key {}{}; allowed are {}", quote(entry.key),
                                           didYouMean(entry.key, known), join(known, "and")));
    }
  }
}

// A mapping of collections; what it breaks elsewhere is told at its place.
void readChanges(const ValuePtr& changes, const Text& text, Problems& problems, Draft& draft) {
  Reader reader(text, problems);
  problems.setFallback({&text, changes->mark});
  if (changes->kind == Value::Kind::mapping)
    DocumentReader(reader, draft, Holds::resources).readCollections(changes);
  else
    reader.error(changes->mark,
                 "the changes must be a mapping of collections, not " + changes->describe());
}

}  // namespace

Loaded load(const Source& node, const std::vector<Source>& resources) {
  Run run;
  run.readSource(node, Holds::nodeAndResources);
  for (const Source& source : resources) run.readSource(source, Holds::resources);
  return run.finish();
}

Loaded loadKept(Kept kept) {
  Run run;
  run.readSource({kept.file.string(), std::move(kept.text)}, Holds::nodeAndResources,
                 kMaxKeptBytes);
  return run.finish();
}

Loaded loadDirectory(const fs::path& path) {
  Run run;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    readDirectory(path, nullptr, run);
  } else if (const auto source = readFile(path, run)) {
    run.readSource(*source, Holds::nodeAndResources);
  }
  return run.finish();
}

Loaded loadDirectory(const fs::path& directory, const Overlay& overlay) {
  Run run;
  readDirectory(directory, &overlay, run);
  return run.finish();
}

Loaded loadDocuments(const Node& node, const Text& text, const std::vector<ValuePtr>& documents) {
  Configuration base;
  base.node = node;
  Run run(base);
  run.readDocuments(text, documents, Holds::nodeAndResources);
  return run.finish();
}

Loaded readDocuments(const Text& text, const std::vector<ValuePtr>& documents) {
  Run run;
  run.readDocuments(text, documents, Holds::resources);
  return run.take();
}

Loaded loadScenario(const Source& scenario) {
  Run run;
  const Text& text = run.keep(scenario);
  Reader reader(text, run.problems());
  const auto documents = run.parseText(text);
  if (documents.size() > 1)
    reader.error(documents[1]->mark, "a scenario is one YAML document; there are several");
  if (documents.empty() || documents.front()->kind != Value::Kind::mapping) {
    if (run.problems().errors() == 0)
      reader.error({}, "a scenario is a mapping with the keys node, resources, events and expect");
    return run.finish();
  }
  readScenario(*documents.front(), reader, run.draft());
  return run.finish();
}

Loaded loadScenario(const Text& text, const ValuePtr& document) {
  Run run;
  Reader reader(text, run.problems());
  readScenario(*document, reader, run.draft());
  return run.finish();
}

Loaded merge(const Configuration& base, const YAML::Node& changes, const Source& source) {
  Run run(base);
  const Text& text = run.keep(source);
  if (const ValuePtr value = fromYaml(changes, text, run.problems()))
    readChanges(value, text, run.problems(), run.draft());
  return run.finish();
}

Loaded merge(const Configuration& base, const ValuePtr& changes, const Text& text) {
  Run run(base);
  readChanges(changes, text, run.problems(), run.draft());
  return run.finish();
}

Loaded merge(const Configuration& base, const Source& changes) {
  Run run(base);
  run.problems().setFallback({&run.keep(changes), {}});
  run.readSource(changes, Holds::resources);
  return run.finish();
}

Loaded validate(Configuration configuration) { return Run(configuration).finish(); }

std::optional<Endpoint> readEndpoint(const YAML::Node& node, const Source& source,
                                     std::vector<Diagnostic>& diagnostics) {
  Problems problems;
  const Text text(source);
  Reader reader(text, problems);
  Endpoint endpoint;
  const ValuePtr value = fromYaml(node, text, problems);
  if (value != nullptr) readEndpoint(*value, endpoint, reader);
  const bool good = problems.errors() == 0;
  for (Diagnostic& diagnostic : problems.take()) diagnostics.push_back(std::move(diagnostic));
  return good ? std::optional(endpoint) : std::nullopt;
}

}  // namespace weir::config
