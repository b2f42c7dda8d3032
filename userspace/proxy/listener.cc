// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "proxy/socket_address.h"

namespace weir::proxy {

namespace {

constexpr int kBacklog = 4096;

}  // namespace

Result<Fd> listenAt(const SocketAddress& address) {
  const KernelAddress kernel = toKernel(address);
  const auto fail = [&](const char* what) {
    return Error{fmt::format("cannot {} {} port {}: {}", what, address.address.toString(),
                             address.port, std::strerror(errno))};
  };
  Fd fd(::socket(kernel.get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail("make a socket for");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return fail("share");
  ::setsockopt(fd.get(), IPPROTO_IP, IP_FREEBIND, &on, sizeof on);
  if (!address.address.isIpv4()) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.get(), kernel.get(), kernel.size) != 0) return fail("bind");
  if (::listen(fd.get(), kBacklog) != 0) return fail("listen at");
  return fd;
}

Listener::Listener(EventLoop& loop, ThreadCounters& counters, const Admission& admission,
                   std::shared_ptr<const Fd> socket, Accepted accepted)
    : loop_(loop),
      counters_(counters),
      admission_(admission),
      socket_(std::move(socket)),
      accepted_(std::move(accepted)) {}

Listener::~Listener() { stopWatching(); }

void Listener::start() {
  const Status watched = loop_.watch(socket_->get(), EPOLLIN, *this);
  watched_ = watched.ok();
  if (const bool couldNot = std::exchange(couldNotWatch_, !watched_); couldNot && watched_)
    recovered();
  if (!watched_) pause(watched.error().message);
}

void Listener::stopWatching() noexcept {
  if (std::exchange(watched_, false)) loop_.unwatch(socket_->get());
}

void Listener::onEvents(std::uint32_t) {
  for (int i = 0; i < kMostInATurn; ++i) {
    if (!admission_.hasRoom()) return pause("as many connections as there are descriptors for");
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Fd client(::accept4(socket_->get(), reinterpret_cast<sockaddr*>(&from), &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) {
      counters_.accepted.add(1);
      if (shortSince_) recovered();
      accepted_(std::move(client), fromKernel(from));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    if (isShortage(errno)) return pause(std::strerror(errno));
    counters_.acceptErrors.add(1);  // of one client that is gone again: the next may be fine
  }
}

// Clients wait in the socket's queue meanwhile, and nobody asks for them in a circle.
void Listener::pause(std::string_view reason) {
  counters_.acceptPaused.add(1);
  if (!shortSince_) {
    shortSince_ = loop_.now();
    log::error("no room for new connections; those that exist go on",
               {{"REASON", std::string(reason)}});
  }
  stopWatching();
  loop_.timers().set(*this, loop_.now() + kPause);
}

void Listener::recovered() {
  const auto since = *std::exchange(shortSince_, std::nullopt);
  log::info("there is room for new connections again",
            {{"AFTER_MS", std::to_string((loop_.now() - since).count())}});
}

void Listener::onTime(Time) { start(); }

}  // namespace weir::proxy
