// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/notify.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <ctime>

namespace weir::notify {

namespace {

// systemd reads one assignment per line; a status of several lines would be more assignments.
std::string oneLine(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (c == '\n') c = ' ';
  return line;
}

}  // namespace

void ready(std::string_view status) {
  // Who says so is the main process, also when it has been started beside the one that was.
  ::sd_notify(0,
              fmt::format("READY=1\nMAINPID={}\nSTATUS={}", ::getpid(), oneLine(status)).c_str());
}

void status(std::string_view status) {
  ::sd_notify(0, fmt::format("STATUS={}", oneLine(status)).c_str());
}

void reloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto microseconds = now.tv_sec * 1'000'000ll + now.tv_nsec / 1000;
  ::sd_notify(0, fmt::format("RELOADING=1\nMONOTONIC_USEC={}", microseconds).c_str());
}

void stopping() { ::sd_notify(0, "STOPPING=1"); }

void watchdog() { ::sd_notify(0, "WATCHDOG=1"); }

std::optional<std::chrono::microseconds> watchdogInterval() {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

}  // namespace weir::notify
