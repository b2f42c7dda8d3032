// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "config/utf8.h"

namespace weir::config {

std::string_view toString(Diagnostic::Severity severity) noexcept {
  switch (severity) {
    case Diagnostic::Severity::error:
      return "error";
    case Diagnostic::Severity::warning:
      return "warning";
    case Diagnostic::Severity::hint:
      return "hint";
  }
  return "error";
}

namespace {

// A line as it may be shown, and blanks as wide as what comes before `column`, tabs kept, so that
// a caret lands under it.
struct Excerpt {
  std::string line;
  std::string indent;
};

Excerpt excerptOf(std::string_view line, unsigned column) {
  Excerpt out;
  for (unsigned at = 0; !line.empty();) {
    // Columns count what begins a character; see Text::columnOf().
    if (!isContinuation(line[0])) ++at;
    const Shown shown = showFirst(line);
    const bool isEscaped = shown.text != line.substr(0, shown.taken);
    line.remove_prefix(shown.taken);
    out.line += shown.text;
    if (at >= column) continue;
    out.indent += shown.text == "\t" ? "\t" : std::string(isEscaped ? shown.text.size() : 1, ' ');
  }
  return out;
}

}  // namespace

std::string Diagnostic::toString() const {
  std::string place = file;
  if (line != 0) place += fmt::format("{}{}:{}", file.empty() ? "" : ":", line, column);
  std::string out = fmt::format("{}{}{}: {}", place, place.empty() ? "" : ": ",
                                config::toString(severity), message);
  if (line == 0 || sourceLine.empty()) return out;
  const Excerpt excerpt = excerptOf(sourceLine, column);
  return out + fmt::format("\n  {}\n  {}^", excerpt.line, excerpt.indent);
}

std::string Origin::toString() const {
  return text == nullptr ? std::string() : fmt::format("{}:{}", text->name(), text->lineOf(mark));
}

bool Problems::hasRoom(Diagnostic::Severity severity) {
  if (diagnostics_.size() + 1 < kMaxDiagnostics) return true;
  if (diagnostics_.size() < kMaxDiagnostics) {
    Diagnostic last;
    last.severity = severity;
    last.file = diagnostics_.back().file;
    last.message = fmt::format("more than {} messages; the rest is not shown", kMaxDiagnostics - 1);
    diagnostics_.push_back(std::move(last));
  }
  // An error that is not shown must not get lost.
  if (severity == Diagnostic::Severity::error) diagnostics_.back().severity = severity;
  return false;
}

void Problems::report(Diagnostic::Severity severity, const Origin& at, std::string message) {
  if (severity == Diagnostic::Severity::error) ++errors_;
  if (!hasRoom(severity)) return;
  const Origin& origin = at.text != nullptr ? at : fallback_;
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.message = std::move(message);
  if (origin.text != nullptr) {
    diagnostic.file = origin.text->name();
    diagnostic.line = origin.text->lineOf(origin.mark);
    diagnostic.column = origin.text->columnOf(origin.mark);
    diagnostic.sourceLine = origin.text->lineAt(origin.mark);
  }
  diagnostics_.push_back(std::move(diagnostic));
}

void Problems::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Diagnostic::Severity::error) ++errors_;
  if (hasRoom(diagnostic.severity)) diagnostics_.push_back(std::move(diagnostic));
}

void Problems::fileError(std::string file, std::string message) {
  ++errors_;
  reportFile(Diagnostic::Severity::error, std::move(file), std::move(message));
}

void Problems::fileWarning(std::string file, std::string message) {
  reportFile(Diagnostic::Severity::warning, std::move(file), std::move(message));
}

void Problems::fileHint(std::string file, std::string message) {
  reportFile(Diagnostic::Severity::hint, std::move(file), std::move(message));
}

void Problems::reportFile(Diagnostic::Severity severity, std::string file, std::string message) {
  if (!hasRoom(severity)) return;
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.file = std::move(file);
  diagnostic.message = std::move(message);
  diagnostics_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Problems::take() {
  const auto place = [](const Diagnostic& d) { return std::tie(d.file, d.line, d.column); };
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  errors_ = 0;
  return std::exchange(diagnostics_, {});
}

}  // namespace weir::config
