// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/resumable.h"

#include <boost/asio/steady_timer.hpp>

namespace weir::manager {

namespace {

class Resumable : public Probe {
 public:
  Resumable(ProbeContext context, ProbeTarget target, Plan plan, Plan (*planOf)(const ProbeTarget&),
            ProbeDone done)
      : context_(std::move(context)),
        target_(std::move(target)),
        planOf_(planOf),
        done_(std::move(done)),
        half_(context_.io, std::chrono::milliseconds(target_.check->timeout) / 2) {
    first_ = ask(std::move(plan), false);
    if (context_.resumption->offer() == nullptr) return;
    half_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
      if (!error && !alive.expired()) halfIsOver();
    });
  }
  ~Resumable() override {
    if (done_) context_.resumption->failed();
  }
  Resumable(const Resumable&) = delete;
  Resumable& operator=(const Resumable&) = delete;

  std::optional<std::chrono::microseconds> connectTime() const override {
    const auto time = second_ ? second_->connectTime() : std::nullopt;
    return time ? time : first_->connectTime();
  }

 private:
  // The conversations are this object's: none calls back when it is gone.
  std::unique_ptr<Conversation> ask(Plan plan, bool again) {
    return startConversation(context_, target_, std::move(plan),
                             [this, again](Outcome outcome) { ended(std::move(outcome), again); });
  }

  void askAgain() {
    second_ = ask(planOf_(target_), true);
    second_->offerNothing();
  }

  void halfIsOver() {
    if (!done_ || second_) return;
    if (!first_->restsOnTicket()) return first_->offerNothing();
    // Whatever comes of it: a server that serves one connection after the other, and hangs in this
    // one, does not get to the next.
    context_.resumption->distrust();
    askAgain();
  }

  void ended(Outcome outcome, bool wasAskedAgain) {
    if (!done_) return;
    const bool succeeded = outcome.kind == Outcome::Kind::success;
    if (!succeeded && !wasAskedAgain && first_->restsOnTicket()) {
      if (!second_) askAgain();
      return;
    }
    if (!succeeded)
      context_.resumption->failed();
    else if (second_ || std::chrono::steady_clock::now() >= half_.expiry())
      context_.resumption->distrust();
    // The owner may destroy this.
    std::exchange(done_, nullptr)(std::move(outcome));
  }

  const ProbeContext context_;
  const ProbeTarget target_;
  Plan (*const planOf_)(const ProbeTarget&);
  ProbeDone done_;  // empty: the verdict is given
  boost::asio::steady_timer half_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<Conversation> first_;
  std::unique_ptr<Conversation> second_;  // without a ticket
};

}  // namespace

std::unique_ptr<Probe> startResumable(ProbeContext context, const ProbeTarget& target, Plan plan,
                                      Plan (*planOf)(const ProbeTarget&), ProbeDone done) {
  return std::make_unique<Resumable>(std::move(context), target, std::move(plan), planOf,
                                     std::move(done));
}

}  // namespace weir::manager
