// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/kept.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "config/read_file.h"
#include "config/value.h"
#include "config/write.h"
#include "core/hash.h"

namespace weir::config {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPurpose =
    "# The configuration in force, kept by weir-manager for a start that finds its directory "
    "missing or\n# not mounted. Changes here are refused.\n";
constexpr std::string_view kWhole = "# whole with ";
constexpr std::string_view kDirectory = "# configuration directory ";
constexpr std::string_view kOrigin = "# read from ";
constexpr std::string_view kOriginFile = "# read from file ";
// Of one document; far enough below kMaxValues for a last resource of many endpoints.
constexpr std::size_t kValuesOfDocument = kMaxValues / 10;

fs::path whole(const fs::path& path) {
  std::error_code error;
  fs::path all = fs::absolute(path, error).lexically_normal();
  if (error) return path;
  // "/etc/weir/" is "/etc/weir".
  return all.has_filename() ? all : all.parent_path();
}

std::optional<SourcePlace> lookAt(const fs::path& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return SourcePlace{directory, false, status.st_dev, status.st_ino};
}

// 0: it can be opened. What is there and no file is a mistake that who reads it tells.
int whyUnreadable(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) return ::close(fd), 0;
  return errno == ENXIO ? 0 : errno;  // a socket
}

std::string lossOfFile(const fs::path& file) {
  const int why = whyUnreadable(file);
  if (why == 0) return {};
  return fmt::format(
      "{0} {1}, and the configuration in force was read from it; bring it back (is it mounted?), "
      "or to do without what it said put an empty one into its place: touch {0}",
      file.string(),
      why == ENOENT ? "is missing" : fmt::format("cannot be read ({})", std::strerror(why)));
}

// A link into a mount that is gone, or a file system that answers no more.
std::string lossOfEntry(const fs::path& file) {
  const int why = whyUnreadable(file);
  std::error_code ignored;
  const bool deletedMeanwhile = why == ENOENT && !fs::is_symlink(file, ignored);
  if (why == 0 || deletedMeanwhile) return {};
  return fmt::format(
      "{0} cannot be read ({1}), and the configuration in force was read from its directory; bring "
      "it back (is what it leads to mounted?), or to withdraw what it held remove it: rm {0}",
      file.string(), std::strerror(why));
}

std::string lossOfDirectory(const SourcePlace& origin) {
  std::error_code error;
  bool holdsAnyFile = false;
  for (fs::directory_iterator it(origin.path, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path& file = it->path();
    if (file.extension() != ".yaml" || file.filename().string().front() == '.') continue;
    holdsAnyFile = true;
    if (std::string loss = lossOfEntry(file); !loss.empty()) return loss;
  }
  const std::string name = origin.path.string();
  constexpr const char* kAgain =
      "; where it is a mount point, remove that file again before the right one is mounted over it";
  if (error && error != std::errc::no_such_file_or_directory)
    return fmt::format(
        "{0} cannot be read ({1}), and the configuration in force was read from it; bring it back "
        "(is it mounted?), or to withdraw everything that it held put a directory with an empty "
        "file into its place: mv {0} {0}.away && mkdir {0} && touch {0}/none.yaml",
        name, error.message());
  if (holdsAnyFile) return {};
  const auto now = lookAt(origin.path);
  if (now == origin) return {};
  if (!now)
    return fmt::format(
        "{0} is missing, and the configuration in force was read from it; bring it back (is it "
        "mounted?), or to withdraw everything that it held make it with an empty file in it: "
        "mkdir {0} && touch {0}/none.yaml{1}",
        name, kAgain);
  return fmt::format(
      "{0} is empty and not the directory that the configuration in force was read from; bring "
      "that one back (is it mounted?), or to withdraw everything that it held put an empty file "
      "into this one: touch {0}/none.yaml{1}",
      name, kAgain);
}

// In the order of the configuration, so that what is read again is equal to it.
std::vector<WrittenResource> inOrder(const Configuration& configuration) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  forEachCollection(configuration, [&](std::string_view collection, const auto& list) {
    for (const auto& resource : list)
      places.emplace(std::pair(collection, std::string_view(resource.name)), places.size());
  });
  std::vector<WrittenResource> written = writtenResources(configuration);
  std::ranges::sort(written, {}, [&](const WrittenResource& resource) {
    return places.at({resource.collection.name, resource.name});
  });
  return written;
}

std::size_t valuesIn(const Value& value) {
  std::size_t values = 1;
  for (const ValuePtr& item : value.items) values += valuesIn(*item);
  for (const Value::Entry& entry : value.entries) values += valuesIn(*entry.value);
  return values;
}

// One document, or several that the parser's bound on the values of one does not refuse.
std::string documentsOf(const Configuration& configuration) {
  std::string text;
  std::vector<WrittenResource> document;
  std::size_t values = 0;
  const Node* node = &configuration.node;
  const auto finish = [&] {
    text += yamlText(*writtenConfiguration(document, node));
    node = nullptr;
    document.clear();
    values = 0;
  };
  for (WrittenResource& resource : inOrder(configuration)) {
    const std::size_t more = valuesIn(*resource.value);
    if (!document.empty() && values + more > kValuesOfDocument) {
      finish();
      text += "---\n";
    }
    values += more;
    document.push_back(std::move(resource));
  }
  finish();
  return text;
}

std::string wholeLine(std::string_view rest) {
  return fmt::format("{}{} bytes below, checksum {:016x}\n", kWhole, rest.size(),
                     hashText(rest, 0));
}

// "# read from file PATH" or "# read from DEVICE INODE PATH"
std::optional<SourcePlace> readOrigin(const std::string& line) {
  SourcePlace origin;
  if (line.starts_with(kOriginFile)) {
    origin.path = line.substr(kOriginFile.size());
    origin.isFile = true;
    return origin;
  }
  std::istringstream words(line.substr(kOrigin.size()));
  std::string path;
  if (!(words >> origin.device >> origin.inode) || words.get() != ' ' || !std::getline(words, path))
    return std::nullopt;
  origin.path = path;
  return origin;
}

// Is it what keptText() made, to the last byte?
bool isWhole(std::string_view text) {
  if (!text.starts_with(kPurpose)) return false;
  text.remove_prefix(kPurpose.size());
  const std::size_t end = text.find('\n');
  if (end == text.npos) return false;
  return text.substr(0, end + 1) == wholeLine(text.substr(end + 1));
}

}  // namespace

std::vector<SourcePlace> originsOf(const std::vector<Definition>& definitions,
                                   const fs::path& configDir) {
  std::vector<SourcePlace> origins;
  fs::path nodeFile;
  if (!configDir.empty()) {
    std::error_code error;
    nodeFile = whole(configDir);
    if (fs::is_directory(nodeFile, error)) nodeFile /= "weir.yaml";
    if (whyUnreadable(nodeFile) == 0) origins.push_back({nodeFile, true, 0, 0});
  }
  std::string last;
  for (const Definition& definition : definitions) {
    if (definition.file == last) continue;  // one after the other they stand in a file
    last = definition.file;
    const fs::path file = whole(last);
    if (file == nodeFile) continue;
    const fs::path directory = file.parent_path();
    const auto isIt = [&](const SourcePlace& origin) { return origin.path == directory; };
    if (std::ranges::any_of(origins, isIt)) continue;
    if (const auto origin = lookAt(directory)) origins.push_back(*origin);
  }
  return origins;
}

std::string lossOf(const std::vector<SourcePlace>& origins) {
  // Directories first: where both are gone, they hold more.
  for (const bool files : {false, true})
    for (const SourcePlace& origin : origins) {
      if (origin.isFile != files) continue;
      std::string loss = files ? lossOfFile(origin.path) : lossOfDirectory(origin);
      if (!loss.empty()) return loss;
    }
  return {};
}

std::string keptText(const Configuration& configuration, const fs::path& configDir,
                     const std::vector<SourcePlace>& origins) {
  std::string rest = fmt::format("{}{}\n", kDirectory, whole(configDir).string());
  for (const SourcePlace& origin : origins)
    rest += origin.isFile ? fmt::format("{}{}\n", kOriginFile, origin.path.string())
                          : fmt::format("{}{} {} {}\n", kOrigin, origin.device, origin.inode,
                                        origin.path.string());
  rest += documentsOf(configuration);
  return std::string(kPurpose) + wholeLine(rest) + rest;
}

std::optional<Kept> readKept(const fs::path& stateDir, const fs::path& configDir) {
  Kept kept{stateDir / kKeptName, {}, {}, {}};
  struct stat status {};
  if (::lstat(kept.file.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR))
    return std::nullopt;
  auto text = readWholeFile(kept.file, kMaxKeptBytes);
  if (!text) {
    kept.damage = fmt::format("{} {}", kept.file.string(), text.error().message);
    return kept;
  }
  kept.text = std::move(*text);
  bool isOfDirectory = false;
  std::istringstream lines(kept.text);
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    if (line.starts_with(kDirectory))
      isOfDirectory = line.substr(kDirectory.size()) == whole(configDir).string();
    if (!line.starts_with(kOrigin)) continue;
    if (auto origin = readOrigin(line)) kept.origins.push_back(std::move(*origin));
  }
  if (!isWhole(kept.text))
    kept.damage =
        fmt::format("{} is damaged or was changed: its checksum does not fit", kept.file.string());
  else if (!isOfDirectory)
    return std::nullopt;
  return kept;
}

}  // namespace weir::config
