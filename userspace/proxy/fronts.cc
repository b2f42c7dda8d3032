// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/fronts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fd_store.h"
#include "base/log.h"
#include "proxy/socket_address.h"

namespace weir::proxy {

namespace {

std::string textOf(const SocketAddress& address) {
  return fmt::format("{} port {}", address.address.toString(), address.port);
}

ProxyThread& threadOf(const Fronts::Threads& threads, std::size_t socket) {
  return *threads[socket % threads.size()];
}

}  // namespace

bool Fronts::update(const ProxyWorld& world, const Threads& threads) {
  closeUnwanted(world, threads);
  const ProxySettings& settings = world.node().settings;
  for (const ProxyWorld::Front& front : world.fronts())
    open({front.rule->address, front.rule->port}, settings, threads);
  inherited_.clear();  // the wanted ones have been taken out
  setOptions(settings);
  return failing_.empty();
}

void Fronts::closeUnwanted(const ProxyWorld& world, const Threads& threads) {
  const auto isUnwanted = [&](const auto& entry) { return world.frontOf(entry.first) == nullptr; };
  for (const auto& entry : sockets_)
    if (isUnwanted(entry))
      for (const auto& thread : threads) thread->stopListening(entry.first);
  for (auto* const sockets : {&sockets_, &inherited_}) {
    for (const auto& entry : *sockets)
      if (isUnwanted(entry)) fd_store::remove(storeName(entry.first));
    std::erase_if(*sockets, isUnwanted);
  }
  std::erase_if(failing_, isUnwanted);
}

// What the predecessor had is used first, however many those were: each of them has a queue of
// clients that must be served.
void Fronts::open(const SocketAddress& address, const ProxySettings& settings,
                  const Threads& threads) {
  auto& sockets = sockets_[address];
  const std::size_t before = sockets.size();
  if (auto inherited = inherited_.extract(address); !inherited.empty())
    std::ranges::move(inherited.mapped(), std::back_inserter(sockets));
  std::string failure;
  while (sockets.size() < threads.size() && failure.empty()) {
    auto socket = listenAt(address);
    if (socket.ok())
      sockets.push_back(std::make_shared<const Fd>(std::move(*socket)));
    else
      failure = socket.error().message;
  }
  for (std::size_t i = before; i < sockets.size(); ++i) {
    setConnectionOptions(*sockets[i], settings);
    threadOf(threads, i).listen(address, sockets[i]);
  }
  if (sockets.size() > before) {
    std::vector<int> numbers;
    for (const auto& socket : sockets) numbers.push_back(socket->get());
    fd_store::store(storeName(address), numbers);
  }
  tell(address, before == 0 && !sockets.empty(), failure);
  if (sockets.empty()) sockets_.erase(address);
}

// Once when it begins, once when it is over.
void Fronts::tell(const SocketAddress& address, bool isNew, const std::string& failure) {
  const auto known = failing_.find(address);
  const bool wasFailing = known != failing_.end();
  if (failure.empty()) {
    if (isNew || wasFailing) log::info("listening", {{"ADDRESS", textOf(address)}});
    if (wasFailing) failing_.erase(known);
    return;
  }
  if (!wasFailing || known->second != failure)
    log::error("cannot listen with every thread; trying again every second",
               {{"ADDRESS", textOf(address)}, {"REASON", failure}});
  failing_[address] = failure;
}

// Clients that are accepted from now on have them.
void Fronts::setOptions(const ProxySettings& settings) {
  if (settings == settings_) return;
  settings_ = settings;
  for (const auto& [address, sockets] : sockets_)
    for (const auto& socket : sockets) setConnectionOptions(*socket, settings);
}

void Fronts::listenAgain(const Threads& threads) const {
  for (const auto& [address, sockets] : sockets_)
    for (std::size_t i = 0; i < sockets.size(); ++i)
      threadOf(threads, i).listen(address, sockets[i]);
}

ListeningSockets Fronts::all() const {
  ListeningSockets all = sockets_;
  for (const auto& [address, sockets] : inherited_)
    std::ranges::copy(sockets, std::back_inserter(all[address]));
  return all;
}

void Fronts::forgetStored() const {
  for (const auto* sockets : {&sockets_, &inherited_})
    for (const auto& [address, unused] : *sockets) fd_store::remove(storeName(address));
}

void Fronts::close() {
  sockets_.clear();
  inherited_.clear();
  failing_.clear();
}

std::size_t Fronts::sockets() const noexcept {
  std::size_t count = 0;
  for (const auto& [address, sockets] : sockets_) count += sockets.size();
  return count;
}

}  // namespace weir::proxy
