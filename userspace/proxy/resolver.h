// SPDX-License-Identifier: GPL-2.0-or-later
//
// Addresses of backends that are DNS names (X3.1), by c-ares. A name is asked for again when the
// TTL of its answer is over, within the bounds of the settings. What the last good answer said
// stays when a server fails, does not answer, or says that there is nothing: a backend that may
// have moved is better than none. Of one family alone "nothing" is believed.
//
// Control thread only; nothing blocks. Its owner calls process() when fd() is readable, and several
// times a second.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "weir/address.h"
#include "weir/proxy_model.h"
#include "weir/result.h"
#include "weir/types.h"

struct ares_channeldata;
struct ares_addrinfo;

namespace weir::proxy {

class Resolver {
 public:
  static constexpr std::uint16_t kDnsPort = 53;
  // Of the addresses of a name, the first so many are used, in their order as numbers.
  static constexpr std::size_t kMostAddresses = 64;

  // New addresses of a name: never none, and never the same as before.
  using Changed = std::function<void(const std::string& name, const std::vector<Address>&)>;
  static Result<std::unique_ptr<Resolver>> open(Changed, std::uint16_t port = kDnsPort);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Whose addresses are wanted from now on, and by which settings; other names are forgotten.
  void want(const std::set<std::string>& names, const ProxySettings&, Time now);
  // nullptr: not known yet.
  const std::vector<Address>* addressesOf(std::string_view name) const;
  // Every name has been asked for at least once and was answered, or not.
  bool hasTriedAll() const;

  int fd() const noexcept { return epoll_.get(); }
  void process(Time now);

  // Since the start; a query is one name and one family. `unresolved`: names without addresses.
  struct Counts {
    std::uint64_t queries = 0, failures = 0;
    std::size_t names = 0, unresolved = 0, failing = 0;
  };
  Counts counts() const;

 private:
  struct Name {
    std::array<std::vector<Address>, 2> answers;  // by Family
    std::vector<Address> addresses;               // of both, as told
    std::uint64_t turn = 0;                       // of asking
    unsigned pending = 0;                         // queries of this turn under way
    bool answered = false;                        // by any of them
    std::string failure;                          // of one of them
    std::chrono::seconds ttl{0};                  // the shortest of this turn
    bool tried = false;
    bool failing = false;
    Time due;
  };
  struct Query;
  using Names = std::map<std::string, Name, std::less<>>;

  Resolver(Fd epoll, Changed changed, std::uint16_t port)
      : epoll_(std::move(epoll)), changed_(std::move(changed)), port_(port) {}
  Status openChannel();
  void closeChannel();
  void ask(const std::string& name, Name&);
  void answer(const Query&, int status, const ares_addrinfo*);
  void finish(const std::string& name, Name&);
  void watch(int fd, bool readable, bool writable);
  bool isIdle() const;

  Fd epoll_;
  Changed changed_;
  const std::uint16_t port_;
  ares_channeldata* channel_ = nullptr;
  ProxySettings settings_;
  std::int64_t readConfiguration_ = 0;  // when resolv.conf had changed last, as it was read
  Names names_;
  std::set<int> watched_;
  Time now_;
  std::uint64_t turns_ = 0, queries_ = 0, failures_ = 0;
};

}  // namespace weir::proxy
