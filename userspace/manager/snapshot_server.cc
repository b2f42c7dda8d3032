// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/snapshot_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "base/log.h"
#include "manager/data_plane_session.h"
#include "manager/local_socket.h"

namespace weir::manager {

namespace {
constexpr std::string_view kProxyProgram = "weir-proxy";
}

namespace asio = boost::asio;
using asio::local::stream_protocol;

struct SnapshotServer::Impl : std::enable_shared_from_this<SnapshotServer::Impl> {
  Impl(asio::io_context& context, Everything all)
      : io(context), everything(std::move(all)), retry(context) {}

  void accept() {
    acceptor->acceptor().async_accept(
        [weak = weak_from_this()](const boost::system::error_code& error,
                                  stream_protocol::socket socket) {
          const auto self = weak.lock();
          if (!self || error == asio::error::operation_aborted) return;
          if (error) return self->acceptLater(error);
          self->welcome(std::move(socket));
          self->accept();
        });
  }

  // Out of descriptors or memory: neither spin nor stop accepting.
  void acceptLater(const boost::system::error_code& error) {
    log::warning("cannot accept a data plane", {{"REASON", error.message()}});
    retry.expires_after(std::chrono::seconds(1));
    retry.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
      const auto self = weak.lock();
      if (self && !cancelled) self->accept();
    });
  }

  void welcome(stream_protocol::socket socket) {
    auto session = std::make_shared<DataPlaneSession>(
        std::move(socket), DataPlaneSession::Hooks{everything,
                                                   [weak = weak_from_this()] {
                                                     if (const auto self = weak.lock())
                                                       self->progressed();
                                                   },
                                                   [weak = weak_from_this()](const auto& gone) {
                                                     const auto self = weak.lock();
                                                     if (!self) return;
                                                     std::erase(self->sessions, gone);
                                                     self->progressed();
                                                   }});
    sessions.push_back(session);
    session->start();
  }

  void progressed() const {
    if (progress) progress();
  }

  asio::io_context& io;
  Everything everything;
  asio::steady_timer retry;
  std::optional<LocalListener> acceptor;
  std::vector<std::shared_ptr<DataPlaneSession>> sessions;
  std::function<void()> progress;
};

SnapshotServer::SnapshotServer(asio::io_context& io, Everything everything)
    : impl_(std::make_shared<Impl>(io, std::move(everything))) {}

SnapshotServer::~SnapshotServer() { stop(); }

Status SnapshotServer::listen(const std::filesystem::path& path) {
  // Of the manager's own group, which the data planes are in. Operators have the API.
  auto acceptor = listenLocal(impl_->io, path, SocketGroups{});
  if (!acceptor.ok()) return acceptor.error();
  impl_->acceptor.emplace(std::move(acceptor).value());
  impl_->accept();
  return success();
}

void SnapshotServer::stop() {
  impl_->progress = nullptr;
  impl_->retry.cancel();
  impl_->acceptor.reset();
  // Each session takes itself off the list as it closes.
  while (!impl_->sessions.empty()) {
    const auto session = impl_->sessions.back();
    session->close("the manager stops");
  }
}

void SnapshotServer::broadcast(std::span<const SnapshotMessage> messages) {
  if (impl_->sessions.empty()) return;
  for (const auto& message : messages) {
    const Bytes bytes = snapshotFrame(message);
    for (const auto& session : impl_->sessions) session->send(bytes);
  }
}

bool SnapshotServer::confirmed(Generation generation) const {
  bool any = false;
  for (const auto& session : impl_->sessions) {
    if (session->program() == kProxyProgram) continue;
    any = true;
    if (session->applied() < generation) return false;
  }
  return any;
}

void SnapshotServer::onProgress(std::function<void()> progress) {
  impl_->progress = std::move(progress);
}

void SnapshotServer::request(std::string_view program, std::string json,
                             std::chrono::milliseconds timeout,
                             std::function<void(DataPlaneReply)> done) {
  for (const auto& session : impl_->sessions)
    if (session->program() == program)
      return session->request(std::move(json), timeout, std::move(done));
  asio::post(impl_->io, [done = std::move(done), name = std::string(program)] {
    done({DataPlaneReply::Kind::absent, name + " is not connected; is it running?"});
  });
}

std::vector<DataPlaneView> SnapshotServer::dataPlanes() const {
  std::vector<DataPlaneView> views;
  for (const auto& session : impl_->sessions) views.push_back(session->view());
  return views;
}

}  // namespace weir::manager
