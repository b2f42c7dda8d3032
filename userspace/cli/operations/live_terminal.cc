// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/live_terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace weir::cli {

namespace {

// Alternate screen and no cursor; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

void send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

Result<LiveTerminal> LiveTerminal::open() {
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH});
  if (!signals) return signals.error();
  std::optional<termios> before;
  termios keyboard{};
  if (::tcgetattr(STDIN_FILENO, &keyboard) == 0) {
    before = keyboard;
    keyboard.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    // Nobody is left in front of a screen without cursor by Ctrl-Z.
    keyboard.c_cc[VSUSP] = _POSIX_VDISABLE;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keyboard);
  }
  send(kEnter);
  return LiveTerminal(std::move(*signals), before);
}

LiveTerminal::LiveTerminal(LiveTerminal&& other) noexcept
    : signals_(std::move(other.signals_)),
      before_(other.before_),
      mine_(std::exchange(other.mine_, false)) {}

LiveTerminal::~LiveTerminal() {
  if (!mine_) return;
  send(kLeave);
  if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

std::size_t LiveTerminal::rows() const {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool LiveTerminal::wantsToEnd(std::chrono::milliseconds wait) {
  pollfd watched[] = {{signals_.fd(), POLLIN, 0}, {before_ ? STDIN_FILENO : -1, POLLIN, 0}};
  if (::poll(watched, 2, static_cast<int>(wait.count())) <= 0) return false;
  while (const auto signal = signals_.next())
    if (*signal != SIGWINCH) return true;
  if ((watched[1].revents & (POLLIN | POLLHUP)) != 0) {
    char key = 0;
    const ssize_t n = ::read(STDIN_FILENO, &key, 1);
    return n <= 0 || key == 'q' || key == 'Q';
  }
  return false;
}

}  // namespace weir::cli
