// SPDX-License-Identifier: GPL-2.0-or-later
//
// Diagnostics for somebody who typed a command. Values that came with a request, or that stand in a
// file which is about to be replaced, have no line that the person can look at; they are told by
// resource and field instead.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "config/text.h"
#include "config/value.h"

namespace weir::config {

// A diagnostic with the field that it is about.
struct Finding {
  Diagnostic diagnostic;   // `file` and `line` where the person can look there
  std::string collection;  // empty: not about a resource of the request
  std::string name;
  std::string path;  // "backends[0].group"; empty: the resource as a whole

  // As Diagnostic::toString(), with the resource and the field where there is no file.
  std::string toString() const;
  // The message alone, with the resource or the line that it is about.
  std::string summary() const;
};

// Gives the values of documents places of their own, each a line of a text that nobody sees, and
// translates what is found there.
class EditPlaces {
 public:
  // A copy of a document with places here. `seen` is the text that the person knows it from;
  // nullptr: none. It outlives this.
  ValuePtr add(const ValuePtr& document, const Text* seen);
  // The text of all places; to be made when everything is added.
  Text text() const;

  std::vector<Finding> translate(std::vector<Diagnostic> diagnostics) const;
  // Is this a place here?
  static bool isOwn(std::string_view file) noexcept { return file == kName; }

 private:
  static constexpr std::string_view kName = "<request>";

  struct Place {
    std::string collection;
    std::string name;
    std::string path;
    const Text* seen = nullptr;
    Mark mark;  // in `seen`
  };
  ValuePtr copyDocument(const Value& value, const Text* seen);
  ValuePtr copyCollection(const Value& list, const Place& at);
  ValuePtr copy(const Value& value, const Place& at);
  Mark note(Place at, Mark mark);
  std::string withoutPlaces(std::string message) const;

  std::vector<Place> places_;
};

}  // namespace weir::config
