// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/http_session.h"

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <string_view>

#include "manager/api/http_server.h"

namespace weir::manager {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

HttpResponse responseTo(const error_code& error) {
  if (error == http::error::body_limit)
    return errorResponse(413, "the request's body is larger than 8 MiB");
  if (error == http::error::header_limit)
    return errorResponse(431, "the request's headers are larger than 16 KiB");
  return errorResponse(400, "malformed HTTP request: " + error.message());
}

class Session : public HttpSession, public std::enable_shared_from_this<Session> {
 public:
  Session(Socket socket, HttpHandler handler, Access access, std::chrono::milliseconds patience,
          std::function<void(HttpSession*)> closed)
      : socket_(std::move(socket)),
        handler_(std::move(handler)),
        access_(access),
        patience_(patience),
        closed_(std::move(closed)),
        timer_(socket_.get_executor()) {}

  void start() override { read(); }

  void refuse(HttpResponse response) override {
    keepAlive_ = false;
    write(std::move(response));
  }

  void close() override {
    lingers_ = false;
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
    http::async_read_header(socket_, buffer_, *parser_,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              if (error) return self->received(error);
                              self->readBody();
                            });
  }

  // The same timer runs on: it is the whole request that has to come in time.
  void readBody() {
    if (!closed_) return;
    if (tooSlow_) return received(asio::error::operation_aborted);
    const auto expect = parser_->get()[http::field::expect];
    if (!expect.empty() && !boost::beast::iequals(expect, "100-continue"))
      return received(http::error::bad_field);
    if (!expect.empty() && !parser_->is_done()) {
      asio::async_write(socket_, asio::buffer(kContinue),
                        [self = shared_from_this()](const error_code& error, std::size_t) {
                          if (error) return self->received(error);
                          self->readRest();
                        });
    } else {
      readRest();
    }
  }

  void readRest() {
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       self->received(error);
                     });
  }

  void received(const error_code& error) {
    timer_.cancel();
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
    if (!parsed)
      return refuse(errorResponse(
          400,
          "the request's path cannot be understood: it must begin with /, its percent escapes "
          "must be whole, and no parameter may be given twice"));
    const auto contentType = message[http::field::content_type];
    HttpRequest request{std::string(message.method_string()),
                        std::move(parsed->path),
                        std::move(parsed->query),
                        message.body(),
                        mediaType({contentType.data(), contentType.size()}),
                        access_};
    handler_(std::move(request), [self = shared_from_this()](HttpResponse response) {
      if (self->closed_) self->write(std::move(response));
    });
  }

  void write(HttpResponse response) {
    response_ = {};
    response_.result(response.status);
    response_.version(11);
    if (!response.body.empty()) response_.set(http::field::content_type, response.contentType);
    if (!response.allow.empty()) response_.set(http::field::allow, response.allow);
    response_.keep_alive(keepAlive_);
    response_.body() = std::move(response.body);
    response_.prepare_payload();
    if (headOnly_) response_.body().clear();
    startTimer();
    http::async_write(socket_, response_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->timer_.cancel();
                        if (!self->closed_) return;
                        if (error) return self->close();
                        if (!self->keepAlive_) return self->linger();
                        self->read();
                      });
  }

  // A socket that is closed with bytes in it that nobody read is reset, and the answer may be lost
  // on its way to a client that is still sending. So what it sends is read and forgotten, until it
  // closes or has had its time.
  void linger() {
    error_code error;
    socket_.shutdown(asio::socket_base::shutdown_send, error);
    if (error) return close();
    lingers_ = true;
    forgotten_ = 0;
    timer_.expires_after(std::min<std::chrono::milliseconds>(patience_, kLinger));
    timer_.async_wait([weak = weak_from_this()](const error_code& cancelled) {
      const auto self = weak.lock();
      if (!cancelled && self && self->lingers_) self->close();
    });
    forget();
  }

  void forget() {
    socket_.async_read_some(
        asio::buffer(waste_), [self = shared_from_this()](const error_code& error, std::size_t n) {
          if (!self->lingers_) return;
          self->forgotten_ += n;
          if (error || self->forgotten_ > HttpServer::kMaxBody + HttpServer::kMaxHeader)
            return self->close();
          self->forget();
        });
  }

  static constexpr std::chrono::milliseconds kLinger{1000};
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

  Socket socket_;
  HttpHandler handler_;
  Access access_;
  std::chrono::milliseconds patience_;
  std::function<void(HttpSession*)> closed_;  // empty: closed
  asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_{HttpServer::kMaxBody + HttpServer::kMaxHeader};
  std::optional<Parser> parser_;
  http::response<http::string_body> response_;
  bool keepAlive_ = false;
  bool headOnly_ = false;
  bool tooSlow_ = false;
  bool lingers_ = false;
  std::array<char, 4096> waste_{};
  std::size_t forgotten_ = 0;
};

}  // namespace

std::shared_ptr<HttpSession> makeHttpSession(HttpSession::Socket socket, HttpHandler handler,
                                             Access access, std::chrono::milliseconds patience,
                                             std::function<void(HttpSession*)> closed) {
  return std::make_shared<Session>(std::move(socket), std::move(handler), access, patience,
                                   std::move(closed));
}

}  // namespace weir::manager
