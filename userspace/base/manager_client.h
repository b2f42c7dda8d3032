// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <poll.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/manager_link.h"
#include "weir/types.h"

namespace weir {

// A data plane's connection to the manager, made again for ever: a manager that goes away changes
// nothing but that it is looked for, less and less often up to once a second. For a poll() loop.
class ManagerClient {
 public:
  // `lost` is called with the reason whenever a connection ends.
  ManagerClient(std::filesystem::path runDir, std::string program,
                std::function<void(const std::string& reason)> lost);

  bool isConnected() const noexcept { return link_.has_value(); }
  // What to poll; its descriptor is -1 while there is no connection.
  pollfd wanted() const noexcept;
  // When connectIfDue() has something to do; nullopt: connected.
  std::optional<Time> nextAttempt() const noexcept;
  void connectIfDue(Time now);

  // Whole frames that have come.
  std::vector<Frame> receive(Time now);
  // Nothing happens while there is no connection.
  void send(const Frame&);
  void flush(Time now);

 private:
  void lose(const std::string& reason, Time now);

  std::filesystem::path runDir_;
  std::string program_;
  std::function<void(const std::string&)> lost_;
  std::optional<ManagerLink> link_;
  Time nextAttempt_;
  std::chrono::milliseconds backoff_;
  bool toldAway_ = false;
};

}  // namespace weir
