// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reads /etc/weir (C1): YAML text in, a valid Configuration out, or all that is wrong with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weir/model.h"

namespace weir::config {

// One thing that is wrong. Line and column count from 1; 0: the file as a whole.
struct Diagnostic {
  enum class Severity : std::uint8_t { error, warning, hint };
  Severity severity = Severity::error;
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string message;     // what is wrong and what is allowed, one line
  std::string sourceLine;  // the line itself, for display with a caret under the column

  // "file:line:column: error: message", then the line and a caret.
  std::string toString() const;
};

std::string_view toString(Diagnostic::Severity) noexcept;  // "error"

struct Source {
  std::string name;  // shown in diagnostics
  std::string text;
};

// Where a resource is written; `collection` is its top-level key ("backendServices").
struct Definition {
  std::string collection;
  std::string name;
  std::string file;
  unsigned line = 0;
};

struct Loaded {
  Configuration configuration;          // meaningful only when ok()
  std::vector<Diagnostic> diagnostics;  // sorted by file, line, column; at most kMaxDiagnostics
  std::vector<Definition> definitions;  // of every resource that was read, in reading order
  bool ok() const noexcept {
    for (const auto& d : diagnostics)
      if (d.severity == Diagnostic::Severity::error) return false;
    return true;
  }
};

// Beyond these a file is refused unread, or a run stops telling.
inline constexpr std::size_t kMaxFileBytes = 8u << 20;
inline constexpr std::size_t kMaxDiagnostics = 1000;

// `node` is weir.yaml (may be empty, may hold resources too); `resources` the files of conf.d in
// the order in which they are to be read.
Loaded load(const Source& node, const std::vector<Source>& resources);

// weir.yaml and conf.d/*.yaml in name order below `directory`. A missing weir.yaml or conf.d is
// empty, with a warning when there is no resource at all; a file that cannot be read is an error
// diagnostic. `path` may also be one file.
Loaded loadDirectory(const std::filesystem::path& path);

// A simulation scenario (C3): node settings below `node`, collections below `resources`. The keys
// `events` and `expect` are left alone; any other is an error. When it is ok(), the text is YAML
// that is safe to hand to YAML::Load: its depth and the size of its expanded aliases are bounded.
Loaded loadScenario(const Source& scenario);

}  // namespace weir::config
