// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/manager_client.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace weir {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMinBackoff{50};
constexpr milliseconds kMaxBackoff{1000};

}  // namespace

ManagerClient::ManagerClient(std::filesystem::path runDir, std::string program,
                             std::function<void(const std::string&)> lost)
    : runDir_(std::move(runDir)),
      program_(std::move(program)),
      lost_(std::move(lost)),
      backoff_(kMinBackoff) {}

pollfd ManagerClient::wanted() const noexcept {
  if (!link_) return {-1, 0, 0};
  return {link_->fd(), static_cast<short>(link_->wantsToWrite() ? POLLIN | POLLOUT : POLLIN), 0};
}

std::optional<Time> ManagerClient::nextAttempt() const noexcept {
  return link_ ? std::nullopt : std::optional(nextAttempt_);
}

void ManagerClient::connectIfDue(Time now) {
  if (link_ || now < nextAttempt_) return;
  auto link = ManagerLink::connect(runDir_, program_);
  if (!link) {
    if (!std::exchange(toldAway_, true))
      log::info("waiting for the manager", {{"REASON", link.error().message}});
    nextAttempt_ = now + backoff_;
    backoff_ = std::min(backoff_ * 2, kMaxBackoff);
    return;
  }
  link_.emplace(std::move(*link));
  toldAway_ = false;
  backoff_ = kMinBackoff;
  log::info("connected to the manager");
}

void ManagerClient::lose(const std::string& reason, Time now) {
  link_.reset();
  toldAway_ = true;
  nextAttempt_ = now + backoff_;
  backoff_ = std::min(backoff_ * 2, kMaxBackoff);
  lost_(reason);
}

std::vector<Frame> ManagerClient::receive(Time now) {
  if (!link_) return {};
  auto frames = link_->receive();
  if (frames) return std::move(*frames);
  lose(frames.error().message, now);
  return {};
}

void ManagerClient::send(const Frame& frame) {
  if (link_) link_->send(frame);
}

void ManagerClient::flush(Time now) {
  if (!link_) return;
  if (const Status status = link_->flush(); !status) lose(status.error().message, now);
}

}  // namespace weir
