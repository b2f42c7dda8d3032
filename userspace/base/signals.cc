// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/signals.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>

namespace weir {

Result<Signals> Signals::block(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    return Error{fmt::format("cannot block signals: {}", std::strerror(error))};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
  Fd fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) return Error{fmt::format("cannot open a signalfd: {}", std::strerror(errno))};
  return Signals(std::move(fd));
}

std::optional<int> Signals::next() noexcept {
  signalfd_siginfo info;
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace weir
