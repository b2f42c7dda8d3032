// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/flow.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace weir::proxy {

namespace {

bool mustWait() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Flow::Result Flow::pump(Peer& from, Peer& to, FlowTools& tools) {
  if (ended_) return Result::ended;
  for (int turn = 0; turn < kTurns; ++turn) {
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
      ::shutdown(to.fd.get(), SHUT_WR);
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
  const Step step = sendNow(to, held_.data() + sent_, held_.size() - sent_);
  if (step == Step::moved) {
    held_ = std::string();  // its memory goes, too
    sent_ = 0;
  }
  return step;
}

// moved: all of it is out. blocked: sent_ says how far it came.
Flow::Step Flow::sendNow(Peer& to, const char* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    if (!to.writable) return Step::blocked;
    const ssize_t length = ::send(to.fd.get(), data + done, size - done, MSG_NOSIGNAL);
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
  if (bulk_) return splice(from, tools);
  const ssize_t length = ::recv(from.fd.get(), tools.buffer.get(), FlowTools::kBuffer, 0);
  if (length <= 0) return nothingRead(length, from);
  const auto size = static_cast<std::size_t>(length);
  // Less than asked for: the socket is empty (epoll(7)), unless its end is to be read yet.
  if (size < FlowTools::kBuffer && !from.ending) from.readable = false;
  bulk_ = size >= kBulk;
  sent_ = 0;
  const Step step = sendNow(to, tools.buffer.get(), size);
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
                                  PipePool::kPipeBytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (length <= 0) return nothingRead(length, from);
  pipe_->held = static_cast<std::size_t>(length);
  if (pipe_->held < kNoBulk) bulk_ = false;
  return Step::moved;
}

Flow::Step Flow::drainPipe(Peer& to) {
  while (pipe_->held > 0) {
    if (!to.writable) return Step::blocked;
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
