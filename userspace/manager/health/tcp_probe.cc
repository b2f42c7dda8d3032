// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/tcp_probe.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "manager/health/answer.h"
#include "manager/health/probe_socket.h"

namespace weir::manager {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// The conversation; shared with the handlers that are under way, so that it may be cancelled at
// any time.
class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  Conversation(asio::io_context& io, const ProbeTarget& target, ProbeDone done)
      : socket_(io), target_(target), done_(std::move(done)) {}

  void start() {
    connectProbe(socket_, target_, [self = shared_from_this()](std::optional<Outcome> failure) {
      if (failure) return self->finish(*failure);
      self->sendRequest();
    });
  }

  void cancel() {
    done_ = nullptr;
    close();
  }

 private:
  void sendRequest() {
    if (target_.check->request.empty()) return readResponse();
    asio::async_write(socket_, asio::buffer(target_.check->request),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->finish(outcomeOf(error));
                        self->readResponse();
                      });
  }

  void readResponse() {
    if (target_.check->response.empty()) {
      keepWhatWasSent();
      return finish({Outcome::Kind::success, {}, {}});
    }
    socket_.async_read_some(
        asio::buffer(buffer_), [self = shared_from_this()](const error_code& error, std::size_t n) {
          if (error) return self->finish(outcomeOf(error));
          self->received_.append(self->buffer_.data(), n);
          switch (matchBeginning(self->received_, self->target_.check->response)) {
            case Match::yes:
              return self->finish({Outcome::Kind::success, {}, {}});
            case Match::no:
              return self->finish({Outcome::Kind::wrongAnswer,
                                   "the reply does not begin with the expected response",
                                   {}});
            case Match::needMore:
              return self->readResponse();
          }
        });
  }

  // A reset would take back a request that the backend has not read yet.
  void keepWhatWasSent() {
    const bool sent = !target_.check->request.empty() ||
                      target_.check->proxyHeader != HealthCheck::ProxyHeader::none;
    error_code ignored;
    if (sent) socket_.set_option(asio::socket_base::linger(false, 0), ignored);
  }

  void finish(Outcome outcome) {
    close();
    if (ProbeDone done = std::exchange(done_, nullptr)) done(std::move(outcome));
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

  asio::ip::tcp::socket socket_;
  const ProbeTarget target_;
  ProbeDone done_;
  std::array<char, 1024> buffer_{};
  std::string received_;
};

class TcpProbe : public Probe {
 public:
  explicit TcpProbe(std::shared_ptr<Conversation> conversation)
      : conversation_(std::move(conversation)) {}
  ~TcpProbe() override { conversation_->cancel(); }

 private:
  std::shared_ptr<Conversation> conversation_;
};

}  // namespace

std::unique_ptr<Probe> startTcpProbe(ProbeContext context, const ProbeTarget& target,
                                     ProbeDone done) {
  auto conversation = std::make_shared<Conversation>(context.io, target, std::move(done));
  conversation->start();
  return std::make_unique<TcpProbe>(std::move(conversation));
}

}  // namespace weir::manager
