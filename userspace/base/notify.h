// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a program tells systemd (sd_notify(3)). Without systemd every call does nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace weir::notify {

// Ready to serve, as the service's main process from now on.
void ready(std::string_view status);
void status(std::string_view status);
void reloading();  // followed by ready() when the reload is over
void stopping();
void watchdog();

// How long systemd waits for a watchdog() before it restarts the program; nullopt: it does not
// watch. Call watchdog() at least twice in this time.
std::optional<std::chrono::microseconds> watchdogInterval();

}  // namespace weir::notify
