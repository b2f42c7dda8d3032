// SPDX-License-Identifier: GPL-2.0-or-later
//
// Changes to the configuration directory by command (C2). What they make lands in one file,
// conf.d/weirctl.yaml; files written by hand are read and never written. A change is planned here:
// the file as it would be is checked together with all the others. Nothing is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "config/edit_places.h"
#include "config/load.h"
#include "config/value.h"

namespace weir::config {

struct EditRequest {
  enum class Kind : std::uint8_t {
    create,   // a resource that is not there yet
    replace,  // a resource as a whole; there or not
    patch,    // fields of a resource that is there: JSON merge patch (RFC 7396)
    remove,
    apply,  // resources, each created or replaced
  };
  Kind kind{};
  std::string collection;  // empty with apply
  std::string name;        // empty with apply and create
  // remove: none; apply: any number; else one, a resource or what is to change of it. A member
  // `fingerprint` must be the present one; `kind`, `status` and `diagnostics` are passed over.
  std::vector<ValuePtr> documents;
  const Text* seen = nullptr;  // the text that the person knows the documents from
};

struct EditRefusal {
  enum class Why : std::uint8_t {
    invalid,   // something is wrong with the request
    missing,   // there is no such resource
    conflict,  // it exists, is still referred to, or a file written by hand defines it
    stale,     // somebody else was faster
    onDisk,    // the configuration directory has errors without the request
    notNow,    // valid, but not to be had while weir runs
    notWritten,
  };
  Why why{};
  std::string message;
  std::vector<Finding> findings;
};

struct EditPlan {
  Loaded loaded;               // the whole configuration as it will be
  std::filesystem::path file;  // weirctl.yaml
  std::string text;            // what it will hold
  // "backendServices/web", sorted. All empty: nothing is to be done.
  std::vector<std::string> created, replaced, removed, unchanged;
  std::vector<Finding> remarks;  // warnings and hints about what the request is about

  bool changes() const noexcept {
    return !created.empty() || !replaced.empty() || !removed.empty();
  }
};

std::variant<EditPlan, EditRefusal> planEdit(const std::filesystem::path& directory,
                                             const EditRequest& request);

}  // namespace weir::config
