// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/edit_references.h"
#include "config/edit_values.h"
#include "config/read_file.h"
#include "config/resources.h"
#include "config/utf8.h"
#include "config/words.h"
#include "config/write.h"
#include "config/write_value.h"

namespace weir::config {
namespace {

namespace fs = std::filesystem;
using Kind = EditRequest::Kind;
using Why = EditRefusal::Why;

constexpr std::string_view kHeader =
    "# Written by weirctl and the API, which replace this file as a whole: comments and the order "
    "of\n"
    "# resources are not kept. Resources written by hand belong into a file of their own.\n";

// A resource by its collection and name.
using Key = std::pair<std::string, std::string>;
using Resources = std::map<Key, ValuePtr>;  // in normal form

std::string shown(const Key& key) { return escaped(fmt::format("{}/{}", key.first, key.second)); }

Resources resourcesOf(const Configuration& configuration) {
  Resources out;
  for (WrittenResource& r : writtenResources(configuration))
    out.emplace(Key{r.collection.name, r.name}, std::move(r.value));
  return out;
}

std::vector<Finding> findingsOf(std::vector<Diagnostic> diagnostics) {
  return EditPlaces().translate(std::move(diagnostics));
}

bool isError(const Finding& finding) {
  return finding.diagnostic.severity == Diagnostic::Severity::error;
}

// The configuration directory before the change.
struct Disk {
  fs::path file;  // weirctl.yaml
  Loaded loaded;
  std::map<Key, Definition> definitions;
  Resources all;  // none when the directory has errors
  Resources own;  // of weirctl.yaml

  const Definition* definition(const Key& key) const {
    const auto found = definitions.find(key);
    return found == definitions.end() ? nullptr : &found->second;
  }
  // Defined in a file that is not weir's to write.
  bool isForeign(const Key& key) const {
    const Definition* d = definition(key);
    return d != nullptr && d->file != file.string();
  }
  // nullptr: not there, or not known.
  ValuePtr resource(const Key& key) const {
    for (const Resources* from : {&own, &all})
      if (const auto found = from->find(key); found != from->end()) return found->second;
    return nullptr;
  }
};

// weirctl.yaml by itself: what is wrong elsewhere may be what the change puts right.
std::optional<EditRefusal> readOwnFile(Disk& disk) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(disk.file, error))) return std::nullopt;
  auto content = readWholeFile(disk.file);
  // What cannot be read must not be replaced either.
  if (!content)
    return EditRefusal{
        Why::onDisk, fmt::format("{} {}", disk.file.string(), content.error().message), {}};
  const Text text({disk.file.string(), std::move(content).value()});
  Problems problems;
  const Documents documents = parse(text, problems);
  Loaded alone = readDocuments(text, documents.values);
  for (Diagnostic& diagnostic : problems.take()) alone.diagnostics.push_back(std::move(diagnostic));
  if (alone.ok()) {
    disk.own = resourcesOf(alone.configuration);
    return std::nullopt;
  }
  return EditRefusal{Why::onDisk,
                     fmt::format("{} was changed by hand and has errors; put them right first",
                                 disk.file.string()),
                     findingsOf(std::move(alone.diagnostics))};
}

std::variant<Disk, EditRefusal> readDisk(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    return EditRefusal{Why::conflict,
                       fmt::format("the configuration is the file {}, which is written by hand; "
                                   "change it there and reload",
                                   directory.string()),
                       {}};
  Disk disk;
  disk.file = directory / "conf.d" / "weirctl.yaml";
  disk.loaded = loadDirectory(directory);
  for (const Definition& d : disk.loaded.definitions)
    disk.definitions.emplace(Key{d.collection, d.name}, d);
  if (!disk.loaded.ok()) {
    if (auto refusal = readOwnFile(disk)) return *std::move(refusal);
    return disk;
  }
  disk.all = resourcesOf(disk.loaded.configuration);
  for (const auto& [key, value] : disk.all)
    if (!disk.isForeign(key)) disk.own.emplace(key, value);
  return disk;
}

// What the request wants: the resources it is about, and documents to be checked.
struct Wish {
  std::vector<ValuePtr> documents;
  std::set<Key> keys;  // of the resources in the documents; of the one to be removed
};

EditRefusal refuse(Why why, std::string message) { return {why, std::move(message), {}}; }

EditRefusal noSuch(const Disk& disk, const Key& key) {
  std::vector<std::string> names;
  for (const auto& [other, definition] : disk.definitions)
    if (other.first == key.first) names.push_back(other.second);
  return refuse(
      Why::missing,
      fmt::format("there is no {}{}; {}", shown(key), didYouMean(key.second, names),
                  names.empty() ? "there are none at all" : "there are " + join(names, "and")));
}

EditRefusal foreign(const Disk& disk, const Key& key) {
  const Definition& d = *disk.definition(key);
  return refuse(Why::conflict,
                fmt::format("{} is defined in {} line {}; change it there, then reload", shown(key),
                            d.file, d.line));
}

// The resource that create, replace or patch make; `key` receives its name.
std::variant<ValuePtr, EditRefusal> singleResource(const EditRequest& request, const Disk& disk,
                                                   Key& key) {
  const ValuePtr body = request.documents.empty() ? nullptr : request.documents.front();
  if (request.documents.size() != 1 || body->kind != Value::Kind::mapping)
    return refuse(Why::invalid, "the body must be one mapping, the fields of the resource");
  const auto* name = body->find("name");
  if (name != nullptr && name->value->kind == Value::Kind::scalar) {
    const std::string given = nameOfResource(*body);
    if (key.second.empty()) key.second = given;
    if (given != key.second)
      return refuse(Why::invalid,
                    fmt::format("the name of {} cannot be changed to {}; create another resource",
                                shown(key), quote(given)));
  }
  const bool isThere = disk.definition(key) != nullptr;
  if (request.kind == Kind::create && isThere) {
    const Definition& d = *disk.definition(key);
    return refuse(Why::conflict,
                  fmt::format("{} exists already ({} line {})", shown(key), d.file, d.line));
  }
  if (request.kind == Kind::patch && !isThere) return noSuch(disk, key);
  const ValuePtr present = disk.resource(key);
  if (const auto* wanted = body->find("fingerprint");
      wanted != nullptr && wanted->value->kind != Value::Kind::null &&
      request.kind != Kind::create &&
      (present == nullptr || wanted->value->text != fingerprint(*present)))
    return refuse(Why::stale,
                  fmt::format("{} is not as it was when its fingerprint was taken: somebody else "
                              "changed it; look at it again and repeat the change",
                              shown(key)));
  ValuePtr made = withoutOutputFields(body);
  if (request.kind == Kind::patch) {
    if (present == nullptr)
      return EditRefusal{Why::onDisk,
                         fmt::format("{} cannot be read, the configuration has errors", shown(key)),
                         findingsOf(disk.loaded.diagnostics)};
    made = mergePatch(present, made);
  }
  return request.kind == Kind::create ? made : withName(made, key.second);
}

std::variant<Wish, EditRefusal> wishOf(const EditRequest& request, const Disk& disk) {
  Wish wish;
  Key key{request.collection, request.name};
  if (request.kind == Kind::apply) {
    for (const ValuePtr& document : request.documents)
      wish.documents.push_back(withoutOutputFieldsInside(document));
    const Text nowhere({"", ""});
    for (const Definition& d : readDocuments(nowhere, wish.documents).definitions) {
      if (!wish.keys.emplace(d.collection, d.name).second)
        return refuse(Why::invalid,
                      fmt::format("{} is there twice", shown({d.collection, d.name})));
    }
    return wish;
  }
  if (request.kind == Kind::remove) {
    if (disk.definition(key) == nullptr) return noSuch(disk, key);
  } else {
    auto made = singleResource(request, disk, key);
    if (auto* refusal = std::get_if<EditRefusal>(&made)) return std::move(*refusal);
    wish.documents.push_back(collectionOf(key.first, std::get<ValuePtr>(made)));
  }
  wish.keys.insert(key);
  return wish;
}

// A resource that others name stays.
std::optional<EditRefusal> refuseReferenced(const Disk& disk, const Key& key) {
  const auto references = referencesTo(disk.loaded.configuration, key.first, key.second);
  if (references.empty()) return std::nullopt;
  std::vector<std::string> users;
  for (const Reference& r : references) {
    const Definition* d = disk.definition({std::string(r.collection), r.name});
    users.push_back(fmt::format("{}/{} ({}, {} line {})", r.collection, r.name, r.path,
                                d ? d->file : "", d ? d->line : 0));
  }
  return refuse(Why::conflict, fmt::format("{} is still used by {}; change or delete that first",
                                           shown(key), join(users, "and")));
}

// The candidate was refused: is it the request's fault?
EditRefusal refusalOf(std::vector<Finding> findings, const Disk& disk, const Wish& wish,
                      const Text* seen) {
  const std::string file = seen != nullptr ? seen->name() : std::string();
  const auto isOfRequest = [&](const Finding& f) {
    return isError(f) && (wish.keys.contains({f.collection, f.name}) ||
                          (f.collection.empty() && f.diagnostic.file == file));
  };
  auto first = std::find_if(findings.begin(), findings.end(), isOfRequest);
  // What is wrong only now is the request's doing, wherever it shows.
  const bool isInvalid = first != findings.end() || disk.loaded.ok();
  if (first == findings.end()) first = std::find_if(findings.begin(), findings.end(), isError);
  const std::string why = first->summary();
  EditRefusal refusal;
  refusal.why = isInvalid ? Why::invalid : Why::onDisk;
  refusal.message = isInvalid ? why
                              : "the configuration on the disk has errors, so nothing can be "
                                "changed: " +
                                    why;
  refusal.findings = std::move(findings);
  return refusal;
}

// The request's documents have errors by themselves.
EditRefusal refusalOfSent(const EditRequest& request, const Disk& disk, const Wish& wish) {
  EditPlaces places;
  std::vector<ValuePtr> documents;
  for (const ValuePtr& document : wish.documents)
    documents.push_back(places.add(document, request.seen));
  const Text text = places.text();
  return refusalOf(places.translate(readDocuments(text, documents).diagnostics), disk, wish,
                   request.seen);
}

// The resources of weirctl.yaml stand together in each collection, as they were put together; here
// they are brought into the order of the file, so that a reload finds the same configuration.
void sortOwn(Configuration& configuration, const std::set<Key>& own) {
  forEachCollection(configuration, [&](std::string_view collection, auto& resources) {
    const auto isOwn = [&](const auto& r) {
      return own.contains({std::string(collection), r.name});
    };
    const auto begin = std::find_if(resources.begin(), resources.end(), isOwn);
    const auto end = std::find_if_not(begin, resources.end(), isOwn);
    std::sort(begin, end, [](const auto& a, const auto& b) { return a.name < b.name; });
  });
}

// The text of weirctl.yaml, and where it defines what.
void writeOwn(EditPlan& plan, const std::set<Key>& own) {
  std::vector<WrittenResource> resources = writtenResources(plan.loaded.configuration);
  std::erase_if(resources, [&](const WrittenResource& r) {
    return !own.contains({std::string(r.collection.name), r.name});
  });
  WrittenFile written = writtenFile(kHeader, resources);
  std::map<Key, unsigned> lines;
  for (std::size_t i = 0; i < resources.size(); ++i)
    lines.emplace(Key{resources[i].collection.name, resources[i].name}, written.lines[i]);
  for (Definition& d : plan.loaded.definitions) {
    if (!EditPlaces::isOwn(d.file)) continue;
    d.file = plan.file.string();
    d.line = lines.at({d.collection, d.name});
  }
  plan.text = std::move(written.text);
}

}  // namespace

std::variant<EditPlan, EditRefusal> planEdit(const fs::path& directory,
                                             const EditRequest& request) {
  auto read = readDisk(directory);
  if (auto* refusal = std::get_if<EditRefusal>(&read)) return std::move(*refusal);
  Disk& disk = std::get<Disk>(read);
  auto wished = wishOf(request, disk);
  if (auto* refusal = std::get_if<EditRefusal>(&wished)) return std::move(*refusal);
  Wish& wish = std::get<Wish>(wished);
  if (request.kind == Kind::remove) {
    const Key key = *wish.keys.begin();
    if (disk.isForeign(key)) return foreign(disk, key);
    if (auto refusal = refuseReferenced(disk, key)) return *std::move(refusal);
  }

  // What is as it is wanted already, wherever it stands.
  EditPlan plan;
  const Text nowhere({"", ""});
  const Loaded sent = readDocuments(nowhere, wish.documents);
  const Resources wanted = sent.ok() ? resourcesOf(sent.configuration) : Resources();
  std::set<Key> unchanged;
  for (const auto& [key, value] : wanted) {
    const auto present = disk.all.find(key);
    if (present != disk.all.end() && isSame(*present->second, *value)) unchanged.insert(key);
  }
  for (const Key& key : wish.keys) {
    if (!disk.isForeign(key) || unchanged.contains(key)) continue;
    // Whether it is as it is wanted cannot be told of documents with errors.
    return sent.ok() || request.kind == Kind::remove ? foreign(disk, key)
                                                     : refusalOfSent(request, disk, wish);
  }

  // weirctl.yaml as it will be, with all the other files.
  std::vector<WrittenResource> kept;
  std::set<Key> own;
  for (const auto& [key, value] : disk.own) {
    if (wish.keys.contains(key)) continue;
    kept.push_back({*collectionNamed(key.first), key.second, value});
    own.insert(key);
  }
  const auto isForeignCopy = [&](std::string_view collection, const std::string& name) {
    return disk.isForeign({std::string(collection), name});
  };
  EditPlaces places;
  std::vector<ValuePtr> documents{places.add(writtenConfiguration(kept, nullptr), nullptr)};
  for (const ValuePtr& document : wish.documents)
    documents.push_back(places.add(withoutResources(document, isForeignCopy), request.seen));
  plan.file = disk.file;
  const Text text = places.text();
  plan.loaded = loadDirectory(directory, Overlay{disk.file, text, std::move(documents)});
  std::vector<Finding> findings = places.translate(plan.loaded.diagnostics);
  if (!plan.loaded.ok()) return refusalOf(std::move(findings), disk, wish, request.seen);
  for (const Key& key : wish.keys) {
    const bool stays = request.kind != Kind::remove;
    if (stays && !disk.isForeign(key)) own.insert(key);
    (!stays                    ? plan.removed
     : unchanged.contains(key) ? plan.unchanged
     : disk.definition(key)    ? plan.replaced
                               : plan.created)
        .push_back(shown(key));
  }
  sortOwn(plan.loaded.configuration, own);
  writeOwn(plan, own);
  for (Finding& finding : findings)
    if (wish.keys.contains({finding.collection, finding.name}))
      plan.remarks.push_back(std::move(finding));
  return plan;
}

}  // namespace weir::config
