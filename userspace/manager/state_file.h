// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "weir/result.h"

namespace weir::manager {

// State that must outlive the process, in a file of the run directory (which a reboot empties, as
// it must: times in it count from boot). Replaced as a whole, never half written.
class StateFile {
 public:
  static constexpr std::chrono::milliseconds kDelay{50};
  static constexpr std::chrono::milliseconds kRetry{1000};

  StateFile(boost::asio::io_context&, std::filesystem::path, std::function<std::string()> content);

  // nullopt: there is none.
  Result<std::optional<std::string>> read() const;
  // The content changed: written after kDelay, changes of that time together.
  void changed();
  // Writes now, if anything changed since the last time. False: it could not, which is told in the
  // log, and is tried again after kRetry.
  bool flush();
  // Why what changed is not in the file; empty: it is, or will be after kDelay.
  const std::string& notWritten() const noexcept { return notWritten_; }

 private:
  void writeAfter(std::chrono::milliseconds);

  std::filesystem::path path_;
  std::function<std::string()> content_;
  boost::asio::steady_timer timer_;
  bool dirty_ = false;
  std::string notWritten_;
};

}  // namespace weir::manager
