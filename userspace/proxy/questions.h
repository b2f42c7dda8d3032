// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the manager may ask about connections. They belong to the threads, so each thread is asked,
// and the answer is there when all have been heard.
//
//   {"op": "list", "service", "client", "backend", "limit"}   -> {"connections": [...],
//   "truncated"}
//   {"op": "count", "service", "client", "backend"}           -> {"count": N}
//   {"op": "flush", "service", "client", "backend"}           -> {"flushed": N}; they are closed
//   {"op": "explain", "connection": {"src", "sport", "dst", "dport", "sni", "alpn"}}
//
// `client` is an address or a range, `backend` an endpoint as get-health shows it or its address.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "proxy/backends.h"
#include "proxy/session.h"
#include "weir/address.h"
#include "weir/proxy_world.h"
#include "weir/result.h"

namespace weir::proxy {

// Which connections a question is about; what is empty means all.
struct SessionFilter {
  std::string service;
  std::optional<Prefix> clients;
  std::string backend;

  bool matches(const Session::Seen&) const;
};

class ConnectionsQuestion {
 public:
  enum class Kind : std::uint8_t { list, count, flush };

  // `request`: the whole question, JSON text; it is to be heard by so many threads.
  static Result<std::shared_ptr<ConnectionsQuestion>> parse(std::string_view request,
                                                            std::size_t threads);

  // A thread's part: looks at its sessions, closes those that are to be flushed.
  void hear(Sessions&, Time now);
  // The answer, JSON text, once every thread has been heard.
  std::optional<std::string> answer() const;

 private:
  struct Found {
    Session::Seen seen;
    std::chrono::seconds idle, age;
  };

  Kind kind_ = Kind::count;
  SessionFilter filter_;
  std::uint64_t limit_ = 0;
  mutable std::mutex mutex_;
  std::size_t awaited_ = 0;
  std::uint64_t matching_ = 0;
  std::vector<Found> found_;
};

// What would become of a connection now, and why; nothing is changed. JSON text.
std::string explainConnection(std::string_view request, const ProxyWorld&, const BackendsDirectory&,
                              Time now);

}  // namespace weir::proxy
