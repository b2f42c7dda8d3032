// SPDX-License-Identifier: GPL-2.0-or-later
//
// Collects what is wrong, so that one run tells everything.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "config/load.h"
#include "config/text.h"

namespace weir::config {

// Where something stands. Without a text: nowhere in particular (line 0).
struct Origin {
  const Text* text = nullptr;
  Mark mark;
  // "conf.d/web.yaml:12", for messages that name a second place; empty without a text.
  std::string toString() const;
};

struct Value;

class Problems {
 public:
  void error(const Origin& at, std::string message) {
    report(Diagnostic::Severity::error, at, std::move(message));
  }
  void warning(const Origin& at, std::string message) {
    report(Diagnostic::Severity::warning, at, std::move(message));
  }
  void hint(const Origin& at, std::string message) {
    report(Diagnostic::Severity::hint, at, std::move(message));
  }
  // One that was made elsewhere.
  void add(Diagnostic);
  // About a file as a whole.
  void fileError(std::string file, std::string message);
  void fileWarning(std::string file, std::string message);
  void fileHint(std::string file, std::string message);

  // Used for origins without a text.
  void setFallback(const Origin& origin) { fallback_ = origin; }

  std::size_t errors() const noexcept { return errors_; }

  // Values that something is wrong with: rules that depend on them must not be judged. The values
  // must outlive this.
  void markWrong(const Value& value) { wrong_.insert(&value); }
  bool isWrong(const Value& value) const { return wrong_.contains(&value); }
  // Sorted by place; empties the collection.
  std::vector<Diagnostic> take();

 private:
  void report(Diagnostic::Severity, const Origin&, std::string message);
  void reportFile(Diagnostic::Severity, std::string file, std::string message);
  // False when there is so much already that nobody reads on; notes that once.
  bool hasRoom(Diagnostic::Severity);

  std::vector<Diagnostic> diagnostics_;
  std::size_t errors_ = 0;
  std::unordered_set<const Value*> wrong_;
  Origin fallback_;
};

}  // namespace weir::config
