// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where a client's connection goes before a backend is chosen: from the address it came to, to the
// target proxy, to the service, by its server name where the proxy has TLS routes (X2, X6). Pure;
// which backend of the service: weir/service_balancer.h.
//
// A ProxyWorld is immutable. A change makes a new one that shares all unchanged parts with the old
// one, so that threads go on with the one they hold.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/client_hello.h"
#include "weir/close_reason.h"
#include "weir/placement.h"
#include "weir/proxy_header.h"
#include "weir/proxy_snapshot.h"
#include "weir/snapshot.h"
#include "weir/tls_routing.h"

namespace weir {

// What is known of a client's hello when its connection is routed.
struct HelloSeen {
  HelloProblem problem = HelloProblem::none;
  std::string_view serverName;  // as ClientHelloParser gives it
  std::span<const std::string> protocols;

  // Of a parser that is complete or refused; valid as long as the parser.
  static HelloSeen of(const ClientHelloParser& parser) {
    return {parser.problem(), parser.serverName(), parser.protocols()};
  }
};

// The two ends of a client's connection; with acceptProxyFrom those that the header announced.
struct ProxyConnection {
  SocketAddress client;
  SocketAddress server;  // the virtual address and port
  Tuple tuple() const noexcept {
    return {client.address, server.address, client.port,
            server.port,    Protocol::tcp,  Fragment::none};
  }
};

// Which service takes a connection, or why none does.
struct ProxyRoute {
  const ProxyServiceSnapshot* service = nullptr;  // lives as long as the world
  std::string_view tlsRoute;                      // the route's name; empty: none was needed
  std::chrono::seconds idleTimeout{0};            // X5.1, X6.5; 0: none
  // When there is no service; `rule` is the number of the rule that closed ("X6.2").
  CloseReason reason = CloseReason::none;
  std::string_view detail;
  std::string_view rule;
  explicit operator bool() const noexcept { return service != nullptr; }
};

class ProxyWorld {
 public:
  // A place where clients come in.
  struct Front {
    const ProxyFront* rule = nullptr;
    const TargetTcpProxy* proxy = nullptr;
    const TlsRouting* routing = nullptr;
    bool needsHello() const noexcept { return proxy->service.empty(); }
  };

  ProxyWorld();  // no fronts
  ~ProxyWorld();
  // The world after a message; SyncBegin and SyncEnd bracket a full synchronisation, at whose end
  // the services not heard of are gone. Messages for other programs change nothing.
  std::shared_ptr<const ProxyWorld> after(const SnapshotMessage&) const;

  const ProxySnapshot& node() const noexcept;
  const ZoneOrder& zoneOrder() const noexcept;
  // All fronts, by the order of the snapshot; what to listen on.
  std::span<const Front> fronts() const noexcept;
  // nullptr: nothing listens there.
  const Front* frontOf(const SocketAddress& server) const noexcept;

  // nullptr: not known.
  std::shared_ptr<const ProxyServiceSnapshot> service(std::string_view name) const;
  using Services = std::map<std::string, std::shared_ptr<const ProxyServiceSnapshot>, std::less<>>;
  const Services& services() const noexcept { return services_; }

  // `hello`: what the client said, for a front that needs it; nullptr for the others. Of several
  // destinations (X6.5) a stable hash of the connection chooses: equal input, equal output.
  ProxyRoute route(const Front&, const HelloSeen* hello, const ProxyConnection&) const;

 private:
  struct Node;
  std::shared_ptr<const Node> node_;
  Services services_;
  std::optional<std::set<std::string>> heardInSync_;
};

}  // namespace weir
