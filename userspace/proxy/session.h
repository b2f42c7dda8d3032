// SPDX-License-Identifier: GPL-2.0-or-later
//
// A client's connection from accept to close (X5).
//
//   greeting     reads the PROXY header (X2.3) and the ClientHello (X6), where the front wants them
//   connecting   to a backend; another one is tried when that fails, nothing the client sent is
//                lost (X3.3)
//   agreeing     PostgreSQL only: the client has been told that it may begin with TLS, which its
//                backend is asked for now
//   relaying     both directions, until both have ended or one side is gone
//   resetting    one side is gone: what it had sent is on its way to the other, which is reset when
//                it has arrived (X5.2), or when nothing has arrived for the idle timeout
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

#include "base/published.h"
#include "proxy/backends.h"
#include "proxy/counters.h"
#include "proxy/event_loop.h"
#include "proxy/flow.h"
#include "proxy/timers.h"
#include "weir/client_hello.h"
#include "weir/proxy_header.h"
#include "weir/proxy_world.h"

namespace weir::proxy {

struct AccessRecord;
class Session;
using SessionHook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct SessionTag>>;
using Sessions = boost::intrusive::list<Session, boost::intrusive::base_hook<SessionHook>>;

// What the sessions of a thread share.
struct SessionContext {
  EventLoop& loop;
  BackendsDirectory& backends;
  ThreadCounters& counters;
  PublishedView<ProxyWorld>& world;
  FlowTools tools{};
  Sessions sessions{};
  std::size_t nextSource = 0;  // of ProxySettings::sourceAddresses
};

class Session final : public SessionHook, private EventLoop::Worker, private Timer {
 public:
  static constexpr unsigned kMostTries = 3;  // X3.3
  // A connection that lives so long is guarded against backends that die without a word: most
  // connections of a busy proxy are over before, and need no calls for it.
  static constexpr std::chrono::milliseconds kGuardedAfter{1000};

  // Takes over an accepted, non-blocking socket whose ends are `connection`. `front` belongs to
  // `world`.
  static void begin(SessionContext&, Fd client, ProxyConnection connection,
                    std::shared_ptr<const ProxyWorld> world, const ProxyWorld::Front& front);

  // X5.4: the backend's drain is over.
  bool usesAny(const Backends&, const std::vector<ProxySlot>& slots) const;
  void close(CloseReason, std::string_view detail);

  // What an operator sees of it. Texts are empty as long as they are not known.
  struct Seen {
    enum class State : std::uint8_t { opening, established, closing };
    ProxyConnection connection;
    std::string service, group, backend;
    std::uint64_t bytesUp = 0, bytesDown = 0;  // to the backend, to the client
    Time started, lastMoved;
    State state = State::opening;
  };
  Seen seen() const;

 private:
  // A socket and its events.
  struct Side final : EventLoop::Handler {
    void onEvents(std::uint32_t events) override;
    std::uint32_t wanted() const noexcept;  // what epoll is to tell
    Session* session = nullptr;
    Peer peer;
    bool hearsOfBytes = true;
    bool hearsOfRoom = false;  // for more to send
  };
  // Needed until bytes flow.
  struct Opening {
    std::shared_ptr<const ProxyWorld> world;
    const ProxyWorld::Front* front = nullptr;
    std::optional<ProxyHeaderParser> header;
    std::optional<ClientHelloParser> hello;
    std::string bytes;        // of the client, after the PROXY header
    bool helloBegun = false;  // the parser has had the first of them
    bool postgres = false;    // it asked for TLS in PostgreSQL's words, and got its answer
    std::shared_ptr<const ProxyServiceSnapshot> service;
    std::vector<ProxySlot> tried;
    Backends::Choice choice;
    std::string tlsRoute;
  };
  enum class Phase : std::uint8_t { greeting, connecting, agreeing, relaying, resetting, over };

  Session(SessionContext&, Fd client, ProxyConnection, std::shared_ptr<const ProxyWorld>,
          const ProxyWorld::Front&);
  ~Session();

  void onEvents(Side&, std::uint32_t events);
  void onTurn() override { pump(); }
  void onTime(Time now) override;

  bool readGreeting();
  bool takeGreeting(std::string_view bytes);
  bool takePostgresRequests();
  void clientEndedGreeting();
  void route();
  void connect();
  bool beginConnect(const Backends::Choice&);
  void onConnected(std::uint32_t events);
  void askForTls(std::string first);
  void hearAgreement();
  void relay(std::string first);
  void giveBackBackend();  // its connection did not come up
  void pump();
  void passReset(Peer& survivor);
  Side& survivor() noexcept { return resetClient_ ? client_ : backend_; }
  void tryReset();
  void hearOfRoom(Side&);
  void hearOfBytes(Side&, const Flow& itsBytes);
  void rewatch(Side&);
  void setIdleDeadline(Time from);
  void armIdle();
  void whenQuiet(Time now);
  void lookWhatArrived(int unarrived);
  std::chrono::milliseconds untilNextLook() const;
  void guard();
  void resetWhatIsCutOff();
  void writeLog(CloseReason, std::string_view detail);

  SessionContext& context_;
  Phase phase_ = Phase::greeting;
  bool resetClient_ = false;  // resetting: whom
  int unarrived_ = 0;         // bytes that were sent and not acknowledged at the last look
  bool guarded_ = false;
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
  Time deadline_;  // of the phase; relaying and resetting: when it is idle for too long
  Time started_;
  std::unique_ptr<AccessRecord> facts_;  // for the access log; nullptr where none is written
};

}  // namespace weir::proxy
