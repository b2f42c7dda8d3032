// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/flow.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace weir::proxy {

namespace {

bool mustWait() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK; }

void beforeSending(Peer& to) noexcept {
  if (to.delay == Peer::Delay::none) return;
  if (to.delay == Peer::Delay::possible) {
    const int on = 1;
    ::setsockopt(to.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  to.delay = to.delay == Peer::Delay::notYet ? Peer::Delay::possible : Peer::Delay::none;
}

}  // namespace

void Peer::take(std::uint32_t events) noexcept {
  const bool failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if ((events & EPOLLPRI) != 0) urgent = true;
  if (failed || (events & (EPOLLIN | EPOLLPRI | EPOLLRDHUP)) != 0) readable = true;
  if (failed || (events & (EPOLLPRI | EPOLLRDHUP)) != 0) ending = true;
  if (failed || (events & EPOLLOUT) != 0) writable = true;
  // A reset looks like an end, too; and at urgent bytes a read stops before the end.
  finished = (events & EPOLLRDHUP) != 0 && (events & EPOLLERR) == 0 && !urgent;
}

Flow::Result Flow::pump(Peer& from, Peer& to, FlowTools& tools, bool last) {
  if (ended_) return Result::ended;
  const std::uint64_t enough = bytes_ + 2 * kMostAtOnce;
  for (int turn = 0; turn < kTurns && bytes_ < enough; ++turn) {
    if (!held_.empty()) {
      const Step step = send(to);
      if (step == Step::gone) return Result::broken;
      if (step == Step::blocked) return Result::waiting;
    }
    if (pipe_ != nullptr && pipe_->held > 0) {
      const Step step = drainPipe(to);
      if (step == Step::gone) return Result::broken;
      if (step == Step::blocked) return Result::waiting;
    }
    if (atEnd_) {
      drop(tools);
      if (from.gone) return Result::broken;
      if (!last) ::shutdown(to.fd.get(), SHUT_WR);
      ended_ = true;
      return Result::ended;
    }
    if (!from.readable) {
      drop(tools);
      return Result::waiting;
    }
    if (read(from, to, tools) == Step::gone) {
      drop(tools);
      return Result::broken;
    }
  }
  if (pipe_ != nullptr && pipe_->held == 0) drop(tools);
  return Result::busy;
}

void Flow::drop(FlowTools& tools) noexcept {
  if (pipe_ != nullptr) tools.pipes.giveBack(std::move(pipe_));
}

void Flow::count(std::size_t bytes) noexcept {
  bytes_ += bytes;
  moved_ = true;
}

Flow::Step Flow::send(Peer& to) {
  const Step step = sendNow(to, held_.data() + sent_, held_.size() - sent_, 0);
  if (step == Step::moved) {
    held_ = std::string();  // its memory goes, too
    sent_ = 0;
  }
  return step;
}

// moved: all of it is out. blocked: sent_ says how far it came.
Flow::Step Flow::sendNow(Peer& to, const char* data, std::size_t size, int flags) {
  for (std::size_t done = 0; done < size;) {
    if (!to.writable) return Step::blocked;
    beforeSending(to);
    const ssize_t length = ::send(to.fd.get(), data + done, size - done, MSG_NOSIGNAL | flags);
    if (length >= 0) {
      const auto sent = static_cast<std::size_t>(length);
      done += sent;
      sent_ += sent;
      count(sent);
      // Less than asked for: the socket is full, and an edge will tell when it is not.
      if (done < size) to.writable = false;
      continue;
    }
    if (errno == EINTR) continue;
    if (!mustWait()) {
      to.gone = true;
      return Step::gone;
    }
    to.writable = false;
  }
  return Step::moved;
}

// What it means that a read brought nothing.
Flow::Step Flow::nothingRead(ssize_t length, Peer& from) noexcept {
  if (length == 0) {
    atEnd_ = true;
    return Step::moved;
  }
  if (errno == EINTR) return Step::moved;
  from.readable = false;
  if (mustWait()) return Step::blocked;
  from.gone = true;
  return Step::gone;
}

Flow::Step Flow::read(Peer& from, Peer& to, FlowTools& tools) {
  if (bulk_ && !from.urgent) return splice(from, tools);
  const ssize_t length = ::recv(from.fd.get(), tools.buffer.get(), FlowTools::kBuffer, 0);
  if (length <= 0) return nothingRead(length, from);
  const auto size = static_cast<std::size_t>(length);
  // Less than asked for: the socket is empty (epoll(7)). Its end, if it has arrived, is all that is
  // left then, and goes out in one packet with the last bytes; the shutdown or close that follows
  // sends what MSG_MORE held back.
  if (size < FlowTools::kBuffer) {
    if (!from.ending) from.readable = false;
    atEnd_ = from.finished;
  }
  bulk_ = size >= kBulk;
  sent_ = 0;
  const Step step = sendNow(to, tools.buffer.get(), size, atEnd_ ? MSG_MORE : 0);
  if (step == Step::blocked) {
    held_.assign(tools.buffer.get() + sent_, size - sent_);
    sent_ = 0;
  }
  return step == Step::gone ? Step::gone : Step::moved;
}

// The pipe is empty, so that what does not come in is not there.
Flow::Step Flow::splice(Peer& from, FlowTools& tools) {
  if (pipe_ == nullptr) pipe_ = tools.pipes.take();
  if (pipe_ == nullptr) {  // out of descriptors: copying works without
    bulk_ = false;
    return Step::moved;
  }
  const ssize_t length = ::splice(from.fd.get(), nullptr, pipe_->writeEnd.get(), nullptr,
                                  kMostAtOnce, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (length == 0) {  // the end, most likely; recv() knows for certain
    bulk_ = false;
    return Step::moved;
  }
  if (length < 0) return nothingRead(length, from);
  pipe_->held = static_cast<std::size_t>(length);
  if (pipe_->held < kNoBulk) bulk_ = false;
  return Step::moved;
}

Flow::Step Flow::drainPipe(Peer& to) {
  while (pipe_->held > 0) {
    if (!to.writable) return Step::blocked;
    beforeSending(to);
    const ssize_t length = ::splice(pipe_->readEnd.get(), nullptr, to.fd.get(), nullptr,
                                    pipe_->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (length > 0) {
      pipe_->held -= static_cast<std::size_t>(length);
      count(static_cast<std::size_t>(length));
      continue;
    }
    if (length < 0 && errno == EINTR) continue;
    if (length == 0 || !mustWait()) {
      to.gone = true;
      return Step::gone;
    }
    to.writable = false;
  }
  return Step::moved;
}

}  // namespace weir::proxy
