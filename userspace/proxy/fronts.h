// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proxy/handover.h"
#include "proxy/proxy_thread.h"
#include "weir/proxy_world.h"

namespace weir::proxy {

// The listening sockets of the proxy: at every front one for each thread, and what a predecessor
// left there, however many those are. Control thread only.
class Fronts {
 public:
  using Threads = std::vector<std::unique_ptr<ProxyThread>>;

  // `inherited` belongs to nobody until update() says which of them are wanted.
  explicit Fronts(ListeningSockets inherited) : inherited_(std::move(inherited)) {}

  // Opens what the world has and closes what it does not have, X1.4. False: not all could be
  // opened; to be called again after a while. There is at least one thread.
  bool update(const ProxyWorld&, const Threads&);
  // Has the threads accept at all of them, after they were told to stop.
  void listenAgain(const Threads&) const;

  // For a successor: none that clients may wait in is missing.
  ListeningSockets all() const;
  // Nothing is to listen when the program has ended.
  void forgetStored() const;
  void close();

  std::size_t open() const noexcept { return sockets_.size(); }
  std::size_t sockets() const noexcept;
  // Fronts where not every thread has its socket, and why.
  const std::map<SocketAddress, std::string>& failing() const noexcept { return failing_; }

 private:
  void closeUnwanted(const ProxyWorld&, const Threads&);
  void open(const SocketAddress&, const ProxySettings&, const Threads&);
  void tell(const SocketAddress&, bool isNew, const std::string& failure);
  void setOptions(const ProxySettings&);

  ListeningSockets
      sockets_;  // i-th of a front is thread i's, counting round; never none of a front
  ListeningSockets inherited_;
  std::map<SocketAddress, std::string> failing_;
  ProxySettings settings_;  // whose options those that are open have
};

}  // namespace weir::proxy
