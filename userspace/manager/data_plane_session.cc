// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/data_plane_session.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <nlohmann/json.hpp>

#include "base/log.h"

namespace weir::manager {

namespace asio = boost::asio;
using boost::system::error_code;
using nlohmann::json;

namespace {

json parse(const Frame& frame) {
  return json::parse(frame.payload.begin(), frame.payload.end(), nullptr, false);
}

DataPlaneReply responseOf(const Frame& frame) {
  const json body = parse(frame);
  if (!body.is_object())
    return {DataPlaneReply::Kind::refused, "the data plane's answer is not a JSON object"};
  if (const auto error = body.find("error"); error != body.end())
    return {DataPlaneReply::Kind::refused,
            error->is_string() ? error->get<std::string>() : error->dump()};
  return {DataPlaneReply::Kind::answered, {frame.payload.begin(), frame.payload.end()}};
}

}  // namespace

Bytes snapshotFrame(const SnapshotMessage& message) {
  return std::make_shared<const std::vector<std::uint8_t>>(
      serialize(Frame{FrameType::snapshot, 0, encode(message)}));
}

DataPlaneSession::DataPlaneSession(Socket socket, Hooks hooks)
    : socket_(std::move(socket)),
      hooks_(std::move(hooks)),
      connectedAt_(std::chrono::steady_clock::now()),
      stall_(socket_.get_executor()) {}

void DataPlaneSession::start() {
  synchronise();
  read();
}

void DataPlaneSession::close(std::string_view why) {
  if (!std::exchange(open_, false)) return;
  error_code ignored;
  socket_.close(ignored);
  stall_.cancel();
  if (view_.program.empty())
    log::info("a data plane disconnected before it told its name", {{"REASON", std::string(why)}});
  else
    log::info("data plane disconnected", {{"PROGRAM", view_.program},
                                          {"PID", std::to_string(view_.pid)},
                                          {"REASON", std::string(why)}});
  for (auto& [number, request] : std::exchange(requests_, {}))
    request.done(
        {DataPlaneReply::Kind::absent, view_.program + " disconnected before it answered"});
  hooks_.closed(shared_from_this());
}

void DataPlaneSession::read() {
  socket_.async_read_some(asio::buffer(input_),
                          [self = shared_from_this()](const error_code& error, std::size_t n) {
                            if (!self->open_) return;
                            if (error) return self->close(error.message());
                            self->reader_.feed(std::span(self->input_.data(), n));
                            while (self->open_) {
                              auto frame = self->reader_.next();
                              if (!frame.ok()) return self->close(frame.error().message);
                              if (!frame.value()) break;
                              self->receive(**frame);
                            }
                            if (self->open_) self->read();
                          });
}

void DataPlaneSession::receive(const Frame& frame) {
  switch (frame.type) {
    case FrameType::hello:
      return receiveHello(frame);
    case FrameType::applied:
      return receiveApplied(frame);
    case FrameType::response:
      return answer(frame.request, responseOf(frame));
    case FrameType::snapshot:
    case FrameType::request:
      return close("it sent a frame that only the manager sends");
  }
  close("it sent a frame of an unknown type");
}

void DataPlaneSession::receiveHello(const Frame& frame) {
  const json hello = parse(frame);
  if (!hello.is_object()) return close("its hello is not a JSON object");
  const auto text = [&](const char* key) {
    const auto found = hello.find(key);
    return found != hello.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  view_.program = text("program");
  view_.version = text("version");
  if (const auto pid = hello.find("pid"); pid != hello.end() && pid->is_number_integer())
    view_.pid = pid->get<std::int64_t>();
  if (const auto up = hello.find("uptimeSec"); up != hello.end() && up->is_number_unsigned())
    startedAt_ = std::chrono::steady_clock::now() - std::chrono::seconds(up->get<std::uint32_t>());
  log::info(
      "data plane connected",
      {{"PROGRAM", view_.program}, {"PID", std::to_string(view_.pid)}, {"VERSION", view_.version}});
}

void DataPlaneSession::receiveApplied(const Frame& frame) {
  const json body = parse(frame);
  const auto generation = body.is_object() ? body.find("generation") : body.end();
  if (generation == body.end() || !generation->is_number_unsigned())
    return close("its confirmation names no generation");
  view_.applied = Generation(generation->get<std::uint32_t>());
  const auto notKept = body.find("notKept");
  view_.notKept =
      notKept != body.end() && notKept->is_string() ? notKept->get<std::string>() : std::string();
  hooks_.progressed();
}

void DataPlaneSession::answer(std::uint32_t number, DataPlaneReply reply) {
  const auto found = requests_.find(number);
  if (found == requests_.end()) return;  // answered after its time
  const PendingRequest request = std::move(found->second);
  requests_.erase(found);
  request.done(std::move(reply));
}

void DataPlaneSession::request(std::string body, std::chrono::milliseconds timeout,
                               std::function<void(DataPlaneReply)> done) {
  const std::uint32_t number = nextRequest_++;
  auto timer = std::make_unique<asio::steady_timer>(socket_.get_executor(), timeout);
  timer->async_wait([self = shared_from_this(), number, timeout](const error_code& error) {
    if (error) return;
    self->answer(number,
                 {DataPlaneReply::Kind::absent, self->view_.program + " did not answer within " +
                                                    std::to_string(timeout.count()) + " ms"});
  });
  requests_.emplace(number, PendingRequest{std::move(done), std::move(timer)});
  push(std::make_shared<const std::vector<std::uint8_t>>(
      serialize(Frame{FrameType::request, number, {body.begin(), body.end()}})));
}

void DataPlaneSession::send(const Bytes& bytes) {
  // What changes meanwhile is part of the synchronisation to come.
  if (!open_ || mustSynchronise_) return;
  const std::size_t limit = std::max(SnapshotServer::kMaxPendingBytes, 2 * synchronisationBytes_);
  if (pending_.empty() || pendingBytes_ + bytes->size() <= limit) return push(bytes);
  log::warning("data plane reads too slowly; it will be synchronised again",
               {{"PROGRAM", view_.program}, {"PENDING_BYTES", std::to_string(pendingBytes_)}});
  mustSynchronise_ = true;
  pending_.resize(1);
  pendingBytes_ = pending_.front()->size();
}

void DataPlaneSession::synchronise() {
  mustSynchronise_ = false;
  synchronisationBytes_ = 0;
  for (const auto& message : hooks_.everything()) {
    Bytes frame = snapshotFrame(message);
    synchronisationBytes_ += frame->size();
    push(std::move(frame));
  }
}

void DataPlaneSession::push(Bytes bytes) {
  if (!open_) return;
  pendingBytes_ += bytes->size();
  pending_.push_back(std::move(bytes));
  if (pending_.size() == 1) write();
}

void DataPlaneSession::write() {
  stall_.expires_after(SnapshotServer::kStallLimit);
  stall_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->close("it read nothing for too long");
  });
  const auto& bytes = *pending_.front();
  socket_.async_write_some(asio::buffer(bytes.data() + written_, bytes.size() - written_),
                           [self = shared_from_this()](const error_code& error, std::size_t n) {
                             if (!self->open_) return;
                             if (error) return self->close(error.message());
                             self->written_ += n;
                             if (self->written_ == self->pending_.front()->size()) {
                               self->written_ = 0;
                               self->pendingBytes_ -= self->pending_.front()->size();
                               self->pending_.pop_front();
                               if (self->mustSynchronise_) return self->synchronise();
                             }
                             if (self->pending_.empty()) {
                               self->stall_.cancel();
                               return;
                             }
                             self->write();
                           });
}

DataPlaneView DataPlaneSession::view() const {
  const auto since = [](std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() -
                                                            start);
  };
  DataPlaneView view = view_;
  view.connectedFor = since(connectedAt_);
  if (startedAt_) view.upFor = since(*startedAt_);
  return view;
}

}  // namespace weir::manager
