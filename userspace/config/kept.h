// SPDX-License-Identifier: GPL-2.0-or-later
//
// What was in force last, and from where it was read: for the start of a manager, or a reload,
// that finds its directory missing or not mounted. Such a directory looks like an intended
// emptying and is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace weir::config {

// What was read: a directory that held resources, or the file of the node's settings. The identity
// of a directory tells it from the empty mount point below it; files are replaced by who edits
// them, so that theirs says nothing.
struct SourcePlace {
  std::filesystem::path path;  // absolute
  bool isFile = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

// The file of the node's settings, which is `configDir` itself where that is a file, and the
// directories of the other files, each once; those that cannot be looked at are left out.
std::vector<SourcePlace> originsOf(const std::vector<Definition>&,
                                   const std::filesystem::path& configDir);

// Why one of these is gone, or cannot be read, without anybody having emptied it, and what to do,
// in one line. Empty: nothing is lost. A directory that is still the same may have been emptied by
// intent, and any *.yaml file in it, empty or not, shows that it is there.
std::string lossOf(const std::vector<SourcePlace>&);

// The name of the file in the state directory.
inline constexpr std::string_view kKeptName = "in-force.yaml";
// It is the sum of files of at most kMaxFileBytes each.
inline constexpr std::size_t kMaxKeptBytes = 1u << 30;

// What the file holds: the configuration as weirctl export --node writes it, in several documents
// where one would have too many values, below comments: length and checksum of all that follows
// them, `configDir`, and the origins.
std::string keptText(const Configuration&, const std::filesystem::path& configDir,
                     const std::vector<SourcePlace>&);

struct Kept {
  std::filesystem::path file;
  std::vector<SourcePlace> origins;
  std::string text;
  // Why the text is not to be used, in one line that names the file; the origins are then those
  // that can still be read. Empty: it is whole.
  std::string damage;
};
// nullopt: there is no such file, or it is of another configuration directory.
std::optional<Kept> readKept(const std::filesystem::path& stateDir,
                             const std::filesystem::path& configDir);

// The configuration in the text of a file without damage. Diagnostics name the file.
Loaded loadKept(Kept);

}  // namespace weir::config
