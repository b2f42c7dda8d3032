// SPDX-License-Identifier: GPL-2.0-or-later
//
// A session's end: idle timeouts, resets that are passed on, and what is told of it.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

#include "proxy/access_log.h"
#include "proxy/session.h"

namespace weir::proxy {

namespace {

constexpr Time kNever = Time::max();
// How seldom it is looked whether bytes have arrived before a reset.
constexpr std::chrono::milliseconds kSlowestLook{1000};

// Closing it from now on sends a reset.
void resetAtClose(const Fd& socket) noexcept {
  const linger now{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

// That were sent and not acknowledged.
int unarrivedBytes(const Fd& socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket.get(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

// Something that the sender has sent, or would have, does not come through any more.
bool isCutOff(const Flow& flow, const Peer& from) noexcept {
  return !flow.hasEnded() && (flow.holdsBytes() || from.readable || from.gone);
}

}  // namespace

void Session::passReset(Peer& survivor) {
  phase_ = Phase::resetting;
  resetClient_ = &survivor == &client_.peer;
  context_.loop.forget(*this);
  unarrived_ = unarrivedBytes(survivor.fd);
  setIdleDeadline(context_.loop.now());
  tryReset();
}

// A reset throws away what has not arrived, so it waits for a slow reader as its bytes would.
void Session::tryReset() {
  const Time now = context_.loop.now();
  lookWhatArrived(unarrivedBytes(survivor().peer.fd));
  if (unarrived_ > 0 && now < deadline_)
    return context_.loop.timers().set(*this, now + untilNextLook());
  close(CloseReason::connectionTerminated, resetClient_ ? "backend_reset" : "client_reset");
}

// As long as some of what was sent arrives the connection is not idle, however slow its reader is.
// TCP does not tell when that is; it is asked.
void Session::lookWhatArrived(int unarrived) {
  const bool some = unarrived < std::exchange(unarrived_, unarrived);
  setIdleDeadline(some ? context_.loop.now() : lastMoved_);
}

// Less often where nothing moves.
std::chrono::milliseconds Session::untilNextLook() const {
  return std::clamp((context_.loop.now() - lastMoved_) / 4, Timers::kTick, kSlowestLook);
}

void Session::whenQuiet(Time now) {
  lookWhatArrived(unarrivedBytes(client_.peer.fd) + unarrivedBytes(backend_.peer.fd));
  if (deadline_ <= now) return close(CloseReason::connectionTimeout, "idle_timeout");
  armIdle();
}

void Session::setIdleDeadline(Time from) {
  lastMoved_ = from;
  deadline_ = idleTimeout_.count() == 0 ? kNever : from + idleTimeout_;
}

// X5.1, also for what is half-closed. Who has not only ended but is gone is found by keepalive,
// which its host answers with a reset.
void Session::armIdle() {
  const Time now = context_.loop.now();
  Time wake = deadline_;
  // In time for two looks, of which only the second can tell.
  if (!guarded_) {
    const auto early = deadline_ == kNever
                           ? kGuardedAfter
                           : std::min(kGuardedAfter, std::chrono::milliseconds(idleTimeout_) / 2);
    wake = std::min(wake, now + early);
  } else if (unarrived_ > 0 && deadline_ != kNever) {
    wake = std::min(wake, now + untilNextLook());
  }
  if (wake != kNever) context_.loop.timers().set(*this, wake);
}

void Session::close(CloseReason reason, std::string_view detail) {
  if (phase_ == Phase::over) return;
  resetWhatIsCutOff();
  phase_ = Phase::over;
  unset();
  context_.loop.forget(*this);
  if (slot_) backends_->release(*slot_, context_.loop.now());
  // Before the client can see it.
  context_.counters.closed[static_cast<std::size_t>(reason)].add(1);
  writeLog(reason, detail);
  up_.drop(context_.tools);
  down_.drop(context_.tools);
  client_.peer.fd.reset();
  backend_.peer.fd.reset();
  context_.counters.open.fetch_sub(1, std::memory_order_relaxed);
  context_.sessions.erase(context_.sessions.iterator_to(*this));
  // Events of this turn may still name it.
  context_.loop.bury([this] { delete this; });
}

// Whatever the reason, nothing that was cut off may look like an orderly end.
void Session::resetWhatIsCutOff() {
  if (phase_ == Phase::resetting) return resetAtClose(survivor().peer.fd);
  if (phase_ != Phase::relaying) return;
  if (isCutOff(up_, client_.peer)) resetAtClose(backend_.peer.fd);
  if (isCutOff(down_, backend_.peer)) resetAtClose(client_.peer.fd);
}

void Session::writeLog(CloseReason reason, std::string_view detail) {
  // X7.1: what found no backend is told in any case.
  std::optional<AccessRecord> unserved;
  if (facts_ == nullptr && opening_ != nullptr)
    unserved = {opening_->front->rule->rule,
                opening_->service ? opening_->service->name : std::string(),
                "",
                "",
                opening_->tlsRoute,
                opening_->hello ? opening_->hello->serverName() : std::string(),
                opening_->choice.rule};
  if (facts_ == nullptr && !unserved) return;
  const AccessRecord& record = facts_ != nullptr ? *facts_ : *unserved;
  logConnection(record, {connection_, context_.loop.now() - started_, up_.bytes(), down_.bytes(),
                         reason, detail});
}

}  // namespace weir::proxy
