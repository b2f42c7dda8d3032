// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/resolver.h"

#include <ares.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "proxy/socket_address.h"
#include "weir/host_address.h"

namespace weir::proxy {

namespace {

constexpr const char* kSystemConfiguration = "/etc/resolv.conf";
constexpr int kTryMs = 2000;
constexpr int kTries = 2;
constexpr int kAnswerBytes = 1232;  // fits every path unfragmented

// c-ares counts the users of its library state, which lives as long as the program.
int libraryStatus() {
  static const int status = ::ares_library_init(ARES_LIB_INIT_ALL);
  return status;
}

std::int64_t changeTime(const char* path) {
  struct stat file {};
  if (::stat(path, &file) != 0) return 0;
  return std::int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec;
}

std::string listOf(const std::vector<Address>& addresses) {
  std::string text;
  for (const Address& address : addresses) text += (text.empty() ? "" : ",") + address.toString();
  return text;
}

}  // namespace

struct Resolver::Query {
  Resolver* resolver;
  std::string name;
  std::uint64_t turn;
  Family family;
};

Result<std::unique_ptr<Resolver>> Resolver::open(Changed changed, std::uint16_t port) {
  if (const int status = libraryStatus(); status != ARES_SUCCESS)
    return Error{fmt::format("cannot use DNS: {}", ::ares_strerror(status))};
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return Error{fmt::format("cannot wait for DNS: {}", std::strerror(errno))};
  return std::unique_ptr<Resolver>(new Resolver(std::move(epoll), std::move(changed), port));
}

Resolver::~Resolver() {
  names_.clear();  // answers of cancelled queries find nobody
  closeChannel();
}

void Resolver::closeChannel() {
  if (channel_ != nullptr) ::ares_destroy(std::exchange(channel_, nullptr));
}

Status Resolver::openChannel() {
  readConfiguration_ = changeTime(kSystemConfiguration);
  ares_options options{};
  // Names are whole: no search domains. Longer answers than the old 512 bytes without TCP.
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_EDNS;
  options.ednspsz = kAnswerBytes;
  options.timeout = kTryMs;
  options.tries = kTries;
  options.udp_port = options.tcp_port = port_;
  options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
    static_cast<Resolver*>(self)->watch(fd, readable != 0, writable != 0);
  };
  options.sock_state_cb_data = this;
  constexpr int kGiven = ARES_OPT_FLAGS | ARES_OPT_EDNSPSZ | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                         ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT | ARES_OPT_SOCK_STATE_CB;
  int status = ::ares_init_options(&channel_, &options, kGiven);
  if (status == ARES_SUCCESS && !settings_.nameServers.empty())
    status = ::ares_set_servers_csv(channel_, listOf(settings_.nameServers).c_str());
  if (status == ARES_SUCCESS) return success();
  closeChannel();
  return Error{::ares_strerror(status)};
}

void Resolver::watch(int fd, bool readable, bool writable) {
  epoll_event event{};
  event.events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u);
  event.data.fd = fd;
  if (!readable && !writable) {
    watched_.erase(fd);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    return;
  }
  const bool isNew = watched_.insert(fd).second;
  ::epoll_ctl(epoll_.get(), isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

bool Resolver::isIdle() const {
  return std::ranges::all_of(names_, [](const auto& entry) { return entry.second.pending == 0; });
}

void Resolver::want(const std::set<std::string>& names, const ProxySettings& settings, Time now) {
  const bool otherServers = settings.nameServers != settings_.nameServers;
  settings_ = settings;
  std::erase_if(names_, [&](const auto& entry) { return !names.contains(entry.first); });
  for (const std::string& name : names)
    if (const auto [entry, isNew] = names_.try_emplace(name); isNew) entry->second.due = now;
  if (otherServers) {
    for (auto& [name, state] : names_) {
      state.pending = 0;
      state.due = now;
    }
    closeChannel();
  }
  process(now);
}

const std::vector<Address>* Resolver::addressesOf(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() || found->second.addresses.empty() ? nullptr
                                                                  : &found->second.addresses;
}

bool Resolver::hasTriedAll() const {
  return std::ranges::all_of(names_, [](const auto& entry) { return entry.second.tried; });
}

void Resolver::process(Time now) {
  now_ = now;
  if (channel_ != nullptr) {
    std::array<epoll_event, 16> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const bool failed = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
      ::ares_process_fd(channel_,
                        failed || (event.events & EPOLLIN) != 0 ? event.data.fd : ARES_SOCKET_BAD,
                        (event.events & EPOLLOUT) != 0 ? event.data.fd : ARES_SOCKET_BAD);
    }
    ::ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // what has timed out
  }
  for (auto& [name, state] : names_)
    if (state.pending == 0 && state.due <= now) ask(name, state);
}

// Both families: what a connection uses of them is decided when it comes (X1.3).
void Resolver::ask(const std::string& name, Name& state) {
  if (settings_.nameServers.empty() && channel_ != nullptr && isIdle() &&
      changeTime(kSystemConfiguration) != readConfiguration_)
    closeChannel();
  state.answered = false;
  state.failure.clear();
  state.ttl = settings_.dnsMaxTtl;
  if (channel_ == nullptr)
    if (const Status opened = openChannel(); !opened.ok()) {
      state.failure = opened.error().message;
      return finish(name, state);
    }
  // A query may be answered at once; the turn is over when both are.
  state.turn = ++turns_;
  state.pending = 2;
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    ++queries_;
    ares_addrinfo_hints hints{};
    hints.ai_flags = ARES_AI_NOSORT;
    hints.ai_family = family == Family::ipv4 ? AF_INET : AF_INET6;
    hints.ai_socktype = SOCK_STREAM;
    ::ares_getaddrinfo(
        channel_, name.c_str(), nullptr, &hints,
        [](void* argument, int status, int, ares_addrinfo* found) {
          const std::unique_ptr<Query> query(static_cast<Query*>(argument));
          query->resolver->answer(*query, status, found);
          if (found != nullptr) ::ares_freeaddrinfo(found);
        },
        new Query{this, name, state.turn, family});
  }
}

void Resolver::answer(const Query& query, int status, const ares_addrinfo* found) {
  const auto entry = names_.find(query.name);
  if (entry == names_.end() || entry->second.turn != query.turn || entry->second.pending == 0)
    return;  // not wanted any more
  Name& state = entry->second;
  auto& addresses = state.answers[query.family == Family::ipv4 ? 0 : 1];
  if (status == ARES_SUCCESS && found != nullptr) {
    std::set<Address> sorted;
    for (const ares_addrinfo_node* node = found->nodes; node != nullptr; node = node->ai_next) {
      sockaddr_storage storage{};
      std::memcpy(&storage, node->ai_addr, node->ai_addrlen);
      // As for addresses in the configuration: a name must not lead to the node itself, nor to
      // many.
      if (const Address address = fromKernel(storage).address; isHost(address))
        sorted.insert(address);
      state.ttl = std::min(state.ttl, std::chrono::seconds(std::max(0, node->ai_ttl)));
    }
    for (const ares_addrinfo_cname* alias = found->cnames; alias != nullptr; alias = alias->next)
      state.ttl = std::min(state.ttl, std::chrono::seconds(std::max(0, alias->ttl)));
    state.answered = state.answered || !sorted.empty();
    if (sorted.empty()) state.failure = "no address of a host in the answer";
    addresses.assign(sorted.begin(), sorted.end());
    if (addresses.size() > kMostAddresses) addresses.resize(kMostAddresses);
  } else if (status == ARES_ENODATA) {
    // Believed when the other family has addresses.
    if (state.failure.empty()) state.failure = ::ares_strerror(status);
    addresses.clear();
  } else {
    ++failures_;
    state.failure = ::ares_strerror(status);
  }
  if (--state.pending == 0) finish(entry->first, state);
}

void Resolver::finish(const std::string& name, Name& state) {
  state.tried = true;
  if (!state.answered) {
    // As it was, and soon again.
    for (auto& answers : state.answers) answers.clear();
    for (const Address& address : state.addresses)
      state.answers[address.isIpv4() ? 0 : 1].push_back(address);
    state.due = now_ + settings_.dnsMinTtl;
    if (!std::exchange(state.failing, true))
      log::warning(state.addresses.empty() ? "cannot resolve the name of a backend"
                                           : "cannot resolve the name of a backend; going on with "
                                             "the last addresses",
                   {{"NAME", name}, {"REASON", state.failure}});
    return;
  }
  state.due = now_ + std::clamp(state.ttl, settings_.dnsMinTtl, settings_.dnsMaxTtl);
  std::vector<Address> all = state.answers[0];
  all.insert(all.end(), state.answers[1].begin(), state.answers[1].end());
  const bool recovered = std::exchange(state.failing, false);
  if (all == state.addresses) {
    if (recovered) log::info("the name of a backend can be resolved again", {{"NAME", name}});
    return;
  }
  state.addresses = std::move(all);
  log::info("resolved the name of a backend",
            {{"NAME", name}, {"ADDRESSES", listOf(state.addresses)}});
  changed_(name, state.addresses);
}

Resolver::Counts Resolver::counts() const {
  Counts counts{queries_, failures_, names_.size()};
  for (const auto& [name, state] : names_) {
    if (state.addresses.empty()) ++counts.unresolved;
    if (state.failing) ++counts.failing;
  }
  return counts;
}

}  // namespace weir::proxy
