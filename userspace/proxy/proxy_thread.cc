// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/proxy_thread.h"

#include <fmt/format.h>
#include <pthread.h>

#include <system_error>

namespace weir::proxy {

Result<std::unique_ptr<ProxyThread>> ProxyThread::start(unsigned number,
                                                        const Published<ProxyWorld>& world,
                                                        BackendsDirectory& backends,
                                                        Admission& admission) {
  auto loop = EventLoop::open();
  if (!loop.ok()) return loop.error();
  std::unique_ptr<ProxyThread> made(new ProxyThread(std::move(*loop), world, backends, admission));
  try {
    made->thread_ = std::thread([thread = made.get()] { thread->loop_->run(); });
  } catch (const std::system_error& failed) {
    return Error{fmt::format("cannot start a thread: {}", failed.what())};
  }
  admission.add(made->counters_);
  ::pthread_setname_np(made->thread_.native_handle(), fmt::format("proxy-{}", number).c_str());
  return made;
}

ProxyThread::ProxyThread(std::unique_ptr<EventLoop> loop, const Published<ProxyWorld>& world,
                         BackendsDirectory& backends, const Admission& admission)
    : loop_(std::move(loop)),
      admission_(admission),
      world_(world),
      context_{*loop_, backends, counters_, world_} {
  context_.tools.pipes.setMost(admission.pipesPerThread());
}

ProxyThread::~ProxyThread() {
  loop_->post([this] { closeAll(); });
  loop_->stop();
  if (thread_.joinable()) thread_.join();
}

void ProxyThread::closeAll() {
  listeners_.clear();
  while (!context_.sessions.empty())
    context_.sessions.front().close(CloseReason::connectionTerminated, "proxy_stopped");
}

void ProxyThread::listen(const SocketAddress& front, std::shared_ptr<const Fd> socket) {
  loop_->post([this, front, socket = std::move(socket)]() mutable {
    auto listener = std::make_unique<Listener>(*loop_, counters_, admission_, std::move(socket),
                                               [this, front](Fd client, const SocketAddress& from) {
                                                 accept(front, std::move(client), from);
                                               });
    listener->start();
    listeners_.emplace(front, std::move(listener));
  });
}

void ProxyThread::stopListening(const SocketAddress& front) {
  loop_->post([this, front] { listeners_.erase(front); });
}

void ProxyThread::stopListening() {
  loop_->post([this] { listeners_.clear(); });
}

void ProxyThread::closeExpired(std::shared_ptr<Backends> backends, std::vector<ProxySlot> slots) {
  loop_->post([this, backends = std::move(backends), slots = std::move(slots)] {
    std::vector<Session*> over;
    for (Session& session : context_.sessions)
      if (session.usesAny(*backends, slots)) over.push_back(&session);
    for (Session* session : over) session->close(CloseReason::connectionTimeout, "drain_timeout");
  });
}

void ProxyThread::ask(std::shared_ptr<ConnectionsQuestion> question) {
  loop_->post(
      [this, question = std::move(question)] { question->hear(context_.sessions, loop_->now()); });
}

void ProxyThread::accept(const SocketAddress& front, Fd client, const SocketAddress& from) {
  const std::shared_ptr<const ProxyWorld>& world = world_.share();
  const ProxyWorld::Front* const found = world->frontOf(front);
  if (found == nullptr) return;  // the front is being taken away
  Session::begin(context_, std::move(client), {from, front}, world, *found);
}

}  // namespace weir::proxy
