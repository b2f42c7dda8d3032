// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/http_probe.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "manager/health/answer.h"
#include "manager/health/probe_socket.h"

namespace weir::manager {

namespace asio = boost::asio;

namespace {

// Connects by itself (mark, PROXY header) and hands the connected socket to libcurl.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(ProbeContext context, const ProbeTarget& target, ProbeDone done)
      : curl_(context.curl), socket_(context.io), target_(target), done_(std::move(done)) {}
  ~Exchange() { release(); }

  void start() {
    connectProbe(socket_, target_, [self = shared_from_this()](std::optional<Outcome> failure) {
      if (!failure) return self->transfer();
      failure->weight = ReportedWeight{ReportedWeight::Kind::unavailable, 0};
      self->finish(std::move(*failure));
    });
  }

  void cancel() {
    done_ = nullptr;
    boost::system::error_code ignored;
    socket_.close(ignored);
    release();
  }

 private:
  // Cancelled while the connection came up: nobody waits any more.
  bool isCancelled() const { return !done_; }

  void transfer() {
    if (isCancelled()) return;
    easy_ = curl_easy_init();
    const HealthCheck& check = *target_.check;
    const std::string host = target_.address.isIpv4()
                                 ? target_.address.toString()
                                 : fmt::format("[{}]", target_.address.toString());
    url_ = fmt::format("http://{}:{}/", host, target_.port);
    headers_ = curl_slist_append(
        headers_, fmt::format("Host: {}", check.host.empty() ? host : check.host).c_str());
    headers_ = curl_slist_append(headers_, "Connection: close");
    option(CURLOPT_URL, url_.c_str());
    option(CURLOPT_REQUEST_TARGET, check.requestPath.c_str());
    option(CURLOPT_HTTPHEADER, headers_);
    option(CURLOPT_USERAGENT, "weir-health-check");
    option(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    option(CURLOPT_PROXY, "");  // whatever the environment says
    option(CURLOPT_FRESH_CONNECT, 1L);
    option(CURLOPT_FORBID_REUSE, 1L);
    option(CURLOPT_NOSIGNAL, 1L);
    option(CURLOPT_NOPROGRESS, 1L);
    option(CURLOPT_OPENSOCKETFUNCTION, &Exchange::onOpen);
    option(CURLOPT_OPENSOCKETDATA, this);
    option(CURLOPT_SOCKOPTFUNCTION, &Exchange::onOptions);
    option(CURLOPT_HEADERFUNCTION, &Exchange::onHeader);
    option(CURLOPT_HEADERDATA, this);
    option(CURLOPT_WRITEFUNCTION, &Exchange::onBody);
    option(CURLOPT_WRITEDATA, this);
    curl_.add(easy_, [this](int result) { complete(result); });
  }

  template <class Value>
  void option(CURLoption name, Value value) {
    curl_easy_setopt(easy_, name, value);
  }

  // libcurl owns the descriptor from here on, and closes it.
  static curl_socket_t onOpen(void* user, curlsocktype, curl_sockaddr*) {
    auto& socket = static_cast<Exchange*>(user)->socket_;
    if (!socket.is_open()) return CURL_SOCKET_BAD;
    boost::system::error_code error;
    const int fd = socket.release(error);
    return error ? CURL_SOCKET_BAD : fd;
  }
  static int onOptions(void*, curl_socket_t, curlsocktype) {
    return CURL_SOCKOPT_ALREADY_CONNECTED;
  }

  // Both return fewer bytes than they got to end the transfer once the verdict is known.
  static std::size_t onHeader(char* data, std::size_t, std::size_t size, void* user) {
    auto* self = static_cast<Exchange*>(user);
    const std::string_view line(data, size);
    if (line.substr(0, 5) == "HTTP/") self->weight_.reset();  // an answer after a 1xx
    if (const auto value = headerValue(line, kWeightHeader)) self->weight_ = *value;
    const bool lastLine = line == "\r\n" || line == "\n";
    if (!lastLine) return size;
    const long status = self->status();
    if (status < 200) return size;
    self->headersEnded_ = true;
    self->decided_ = status != 200 || self->target_.check->response.empty();
    return self->decided_ ? 0 : size;
  }

  static std::size_t onBody(char* data, std::size_t, std::size_t size, void* user) {
    auto* self = static_cast<Exchange*>(user);
    self->body_.append(data, std::min(size, kSearchedBody - self->body_.size()));
    self->decided_ = self->body_.size() == kSearchedBody ||
                     bodyContains(self->body_, self->target_.check->response);
    return self->decided_ ? 0 : size;
  }

  long status() const {
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  void complete(int result) {
    const auto self = shared_from_this();
    Outcome outcome = decided_ || result == CURLE_OK ? judge() : failureOf(result);
    if (!outcome.weight)
      outcome.weight =
          parseWeight(weight_ ? std::optional<std::string_view>(*weight_) : std::nullopt);
    release();
    finish(std::move(outcome));
  }

  Outcome judge() const {
    if (const long code = status(); code != 200)
      return {Outcome::Kind::wrongAnswer, fmt::format("status {}, expected 200", code), {}};
    if (!headersEnded_)
      return {Outcome::Kind::wrongAnswer, "connection closed in the middle of the headers", {}};
    if (!bodyContains(body_, target_.check->response))
      return {Outcome::Kind::wrongAnswer,
              fmt::format("the expected response is not in the first {} bytes of the body",
                          kSearchedBody),
              {}};
    return {Outcome::Kind::success, {}, {}};
  }

  static Outcome failureOf(int result) {
    const ReportedWeight unavailable{ReportedWeight::Kind::unavailable, 0};
    const ReportedWeight invalid{ReportedWeight::Kind::invalid, 0};
    switch (result) {
      case CURLE_GOT_NOTHING:
        return {Outcome::Kind::wrongAnswer, "connection closed without an answer", unavailable};
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
        return {Outcome::Kind::wrongAnswer, "connection reset", unavailable};
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_WEIRD_SERVER_REPLY:
        return {Outcome::Kind::wrongAnswer, "the answer is not HTTP", invalid};
      default:  // libcurl has a hundred of them
        return {Outcome::Kind::wrongAnswer, curl_easy_strerror(static_cast<CURLcode>(result)),
                invalid};
    }
  }

  void release() {
    if (easy_ != nullptr) {
      curl_.remove(easy_);
      curl_easy_cleanup(std::exchange(easy_, nullptr));
    }
    curl_slist_free_all(std::exchange(headers_, nullptr));
  }

  void finish(Outcome outcome) {
    boost::system::error_code ignored;
    socket_.close(ignored);
    if (ProbeDone done = std::exchange(done_, nullptr)) done(std::move(outcome));
  }

  CurlLoop& curl_;
  asio::ip::tcp::socket socket_;  // until libcurl takes its descriptor
  const ProbeTarget target_;
  ProbeDone done_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::string url_;
  std::optional<std::string> weight_;
  std::string body_;  // its first kSearchedBody bytes
  bool headersEnded_ = false;
  bool decided_ = false;  // the verdict needs no more of the answer
};

class HttpProbe : public Probe {
 public:
  explicit HttpProbe(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~HttpProbe() override { exchange_->cancel(); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace

std::unique_ptr<Probe> startHttpProbe(ProbeContext context, const ProbeTarget& target,
                                      ProbeDone done) {
  auto exchange = std::make_shared<Exchange>(context, target, std::move(done));
  exchange->start();
  return std::make_unique<HttpProbe>(std::move(exchange));
}

}  // namespace weir::manager
