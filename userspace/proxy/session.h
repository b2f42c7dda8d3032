// SPDX-License-Identifier: GPL-2.0-or-later
//
// A client's connection from accept to close (X5).
//
//   greeting     reads the PROXY header (X2.3) and the ClientHello (X6), where the front wants them
//   connecting   to a backend; another one is tried when that fails, nothing the client sent is
//                lost (X3.3)
//   relaying     both directions, until both have ended or one side is gone
//   resetting    one side is gone: what it had sent is on its way to the other, which is reset when
//                it has arrived (X5.2)
//
// Belongs to one thread. It destroys itself when it is over.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/backends.h"
#include "proxy/counters.h"
#include "proxy/event_loop.h"
#include "proxy/flow.h"
#include "proxy/timers.h"
#include "weir/client_hello.h"
#include "weir/proxy_header.h"
#include "weir/proxy_world.h"

namespace weir::proxy {

class Session;
using SessionHook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct SessionTag>>;
using Sessions = boost::intrusive::list<Session, boost::intrusive::base_hook<SessionHook>>;

// What the sessions of a thread share.
struct SessionContext {
  EventLoop& loop;
  BackendsDirectory& backends;
  ThreadCounters& counters;
  FlowTools tools{};
  Sessions sessions{};
  std::size_t nextSource = 0;  // of ProxySettings::sourceAddresses
};

class Session final : public SessionHook, private EventLoop::Worker, private Timer {
 public:
  static constexpr unsigned kMostTries = 3;                     // X3.3
  static constexpr std::chrono::seconds kHalfClosedLimit{300};  // without a byte moving
  static constexpr std::chrono::seconds kResetPatience{2};      // for bytes before a reset

  // Takes over an accepted, non-blocking socket whose ends are `connection`. `front` belongs to
  // `world`.
  static void begin(SessionContext&, Fd client, ProxyConnection connection,
                    std::shared_ptr<const ProxyWorld> world, const ProxyWorld::Front& front);

  // X5.4: the backend's drain is over.
  bool usesAny(const Backends&, const std::vector<ProxySlot>& slots) const;
  void close(CloseReason, std::string_view detail);

 private:
  // A socket and its events.
  struct Side final : EventLoop::Handler {
    void onEvents(std::uint32_t events) override;
    Session* session = nullptr;
    Peer peer;
  };
  // Needed until bytes flow.
  struct Opening {
    std::shared_ptr<const ProxyWorld> world;
    const ProxyWorld::Front* front = nullptr;
    std::optional<ProxyHeaderParser> header;
    std::optional<ClientHelloParser> hello;
    std::string bytes;  // of the client, after the PROXY header
    std::shared_ptr<const ProxyServiceSnapshot> service;
    std::vector<ProxySlot> tried;
    Backends::Choice choice;
    std::string tlsRoute;
  };
  // For the access log; nullptr where none is written.
  struct Facts;
  enum class Phase : std::uint8_t { greeting, connecting, relaying, resetting, over };

  Session(SessionContext&, Fd client, ProxyConnection, std::shared_ptr<const ProxyWorld>,
          const ProxyWorld::Front&);
  ~Session();

  void onEvents(Side&);
  void onTurn() override { pump(); }
  void onTime(Time now) override;

  void readGreeting();
  bool takeGreeting(std::string_view bytes);
  void clientEndedGreeting();
  void route();
  void connect();
  bool beginConnect(const Backends::Choice&);
  void onConnected();
  void giveBackBackend();  // its connection did not come up
  void pump();
  void passReset(Peer& survivor);
  void tryReset();
  void armIdle(Time from);
  void writeLog(CloseReason, std::string_view detail);

  SessionContext& context_;
  Phase phase_ = Phase::greeting;
  bool resetClient_ = false;  // resetting: whom
  Side client_;
  Side backend_;
  Flow up_;    // to the backend
  Flow down_;  // to the client
  ProxyConnection connection_;
  std::unique_ptr<Opening> opening_;
  std::shared_ptr<Backends> backends_;
  std::optional<ProxySlot> slot_;  // counted as open there
  std::chrono::seconds idleTimeout_{0};
  Time lastMoved_;
  Time deadline_;  // of the phase; relaying: none
  Time started_;
  std::unique_ptr<Facts> facts_;
};

}  // namespace weir::proxy
