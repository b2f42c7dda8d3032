// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/http_session.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>

#include "manager/api/http_server.h"

namespace weir::manager {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

HttpResponse responseTo(const error_code& error) {
  if (error == http::error::body_limit)
    return errorResponse(413, "the request's body is larger than 1 MiB");
  if (error == http::error::header_limit)
    return errorResponse(431, "the request's headers are larger than 16 KiB");
  return errorResponse(400, "malformed HTTP request: " + error.message());
}

class Session : public HttpSession, public std::enable_shared_from_this<Session> {
 public:
  Session(Socket socket, HttpHandler handler, std::chrono::milliseconds patience,
          std::function<void(HttpSession*)> closed)
      : socket_(std::move(socket)),
        handler_(std::move(handler)),
        patience_(patience),
        closed_(std::move(closed)),
        timer_(socket_.get_executor()) {}

  void start() override { read(); }

  void refuse(HttpResponse response) override {
    keepAlive_ = false;
    write(std::move(response));
  }

  void close() override {
    timer_.cancel();
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_both, ignored);
    socket_.close(ignored);
    if (auto closed = std::exchange(closed_, nullptr)) closed(this);
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  // Ends the operation under way when the client is too slow: a read is answered, a write not.
  void startTimer() {
    tooSlow_ = false;
    timer_.expires_after(patience_);
    timer_.async_wait([weak = weak_from_this()](const error_code& cancelled) {
      const auto self = weak.lock();
      if (cancelled || !self) return;
      self->tooSlow_ = true;
      error_code ignored;
      self->socket_.cancel(ignored);
    });
  }

  void read() {
    parser_.emplace();
    parser_->body_limit(HttpServer::kMaxBody);
    parser_->header_limit(HttpServer::kMaxHeader);
    startTimer();
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       self->timer_.cancel();
                       self->received(error);
                     });
  }

  void received(const error_code& error) {
    if (!closed_) return;
    if (!error) return dispatch();
    const bool nothingCame = !parser_->got_some();
    if (error == http::error::end_of_stream || (tooSlow_ && nothingCame)) return close();
    if (tooSlow_)
      return refuse(errorResponse(408, "the request did not arrive in time; send it at once"));
    if (error.category() == asio::error::get_system_category()) return close();
    refuse(responseTo(error));
  }

  void dispatch() {
    const auto& message = parser_->get();
    keepAlive_ = message.keep_alive();
    headOnly_ = message.method() == http::verb::head;
    const auto target = message.target();
    auto parsed = parseTarget({target.data(), target.size()});
    if (!parsed) return refuse(errorResponse(400, "the request's path cannot be understood"));
    HttpRequest request{std::string(message.method_string()), std::move(parsed->path),
                        std::move(parsed->query), message.body()};
    handler_(std::move(request), [self = shared_from_this()](HttpResponse response) {
      if (self->closed_) self->write(std::move(response));
    });
  }

  void write(HttpResponse response) {
    response_ = {};
    response_.result(response.status);
    response_.version(11);
    response_.set(http::field::content_type, response.contentType);
    response_.keep_alive(keepAlive_);
    response_.body() = std::move(response.body);
    response_.prepare_payload();
    if (headOnly_) response_.body().clear();
    startTimer();
    http::async_write(socket_, response_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->timer_.cancel();
                        if (!self->closed_) return;
                        if (error || !self->keepAlive_) return self->close();
                        self->read();
                      });
  }

  Socket socket_;
  HttpHandler handler_;
  std::chrono::milliseconds patience_;
  std::function<void(HttpSession*)> closed_;  // empty: closed
  asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_{HttpServer::kMaxBody + HttpServer::kMaxHeader};
  std::optional<Parser> parser_;
  http::response<http::string_body> response_;
  bool keepAlive_ = false;
  bool headOnly_ = false;
  bool tooSlow_ = false;
};

}  // namespace

std::shared_ptr<HttpSession> makeHttpSession(HttpSession::Socket socket, HttpHandler handler,
                                             std::chrono::milliseconds patience,
                                             std::function<void(HttpSession*)> closed) {
  return std::make_shared<Session>(std::move(socket), std::move(handler), patience,
                                   std::move(closed));
}

}  // namespace weir::manager
