// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/signals.h"
#include "weir/result.h"

namespace weir::cli {

// The terminal while something is shown live: the alternate screen, keys as they are pressed.
// Whatever ends it (a key, a signal, an error), the terminal is as it was before.
class LiveTerminal {
 public:
  static Result<LiveTerminal> open();
  LiveTerminal(LiveTerminal&&) noexcept;
  LiveTerminal& operator=(LiveTerminal&&) = delete;
  ~LiveTerminal();

  // Lines of the window now; 0: unknown.
  std::size_t rows() const;
  // Waits; true: q, Ctrl-C or a signal to end. A window that changes its size ends the wait too.
  bool wantsToEnd(std::chrono::milliseconds wait);

 private:
  LiveTerminal(Signals signals, std::optional<termios> before)
      : signals_(std::move(signals)), before_(before) {}
  Signals signals_;
  std::optional<termios> before_;  // of the keyboard; nullopt: the input is no terminal
  bool mine_ = true;
};

}  // namespace weir::cli
