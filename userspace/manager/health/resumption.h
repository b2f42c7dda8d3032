// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>

#include "manager/health/tls.h"

namespace weir::manager {

// Which TLS handshakes with one target may be resumed ones, and with what.
//
// A resumed handshake costs the prober and the backend less than half of a full one, but does not
// tell that the backend's certificate and key still work. So it may confirm what a full one has
// found within the last kFullWithin, and nothing else: targets whose interval leaves no room for
// that are always asked in full, and so is one whose last probe failed.
class Resumption {
 public:
  // From one full handshake of a healthy target to the next.
  static constexpr std::chrono::seconds kFullWithin{5};
  // A distrusted target is offered a ticket again so many successful probes later.
  static constexpr unsigned kDistrust = 600;

  // `interval`: between the starts of two probes, at least a second. `spread`: any number; targets
  // with different ones do not all have their full handshakes in the same second.
  explicit Resumption(std::chrono::seconds interval, std::size_t spread = 0) noexcept
      : most_(static_cast<unsigned>(kFullWithin / interval) - (interval > kFullWithin ? 0 : 1)),
        first_(most_ - static_cast<unsigned>(spread % (most_ + 1))) {}

  // What the next handshake may offer, valid until the next call of another function; nullptr:
  // nothing, it must be a full one.
  ssl_session_st* offer() const noexcept { return left_ > 0 ? ticket_.get() : nullptr; }

  void succeeded(bool wasResumed) noexcept {
    if (wasResumed) {
      if (left_ > 0) --left_;
      return;
    }
    ticket_.reset();
    left_ = distrust_ != 0 ? 0 : isNew_ ? first_ : most_;
    isNew_ = false;
    if (distrust_ > 0) --distrust_;
  }
  // A ticket from a connection whose probe succeeded; also later than that. May be empty.
  void keep(TlsTicket ticket) noexcept {
    if (ticket && left_ > 0) ticket_ = std::move(ticket);
  }
  void failed() noexcept {
    isNew_ = true;
    left_ = 0;
    ticket_.reset();
  }
  // The group of the target's last key exchange that came to a success, whatever came since; 0: not
  // known.
  int group() const noexcept { return group_; }
  void prefer(int group) noexcept { group_ = group; }
  // The target did worse with a ticket than without one, or it needs its time for itself.
  void distrust() noexcept {
    distrust_ = kDistrust;
    left_ = 0;
    ticket_.reset();
  }

 private:
  const unsigned most_;   // resumed handshakes between two full ones
  const unsigned first_;  // the same behind the first success, or the first after a failure
  unsigned left_ = 0;     // of them, until the next full one
  bool isNew_ = true;     // no success since the start or the last failure
  unsigned distrust_ = 0;
  int group_ = 0;
  TlsTicket ticket_;
};

}  // namespace weir::manager
