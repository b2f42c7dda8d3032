// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/wire.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir::manager {

namespace {

bool isRetry(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

// How a socket's error ends the connection.
Wire::Step endedBy(int error) {
  if (error == ECONNRESET || error == EPIPE) return {Wire::State::reset};
  return {Wire::State::failed, 0, std::strerror(error)};
}

}  // namespace

void Wire::startTls(TlsSession session) {
  tls_ = std::move(session);
  BIO* const bio = BIO_new(bioMethod());
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_.get(), bio, bio);
  SSL_set_msg_callback(tls_.get(), &Wire::countMessage);
  // What SSL_set_msg_callback_arg() does, without its cast.
  SSL_ctrl(tls_.get(), SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, this);
}

void Wire::countMessage(int isWritten, int, int type, const void*, std::size_t, ssl_st*,
                        void* self) {
  if (isWritten == 0 && type == SSL3_RT_HANDSHAKE) ++static_cast<Wire*>(self)->messages_;
}

// -1 with errno EAGAIN also when this turn has had its share.
ssize_t Wire::receive(char* into, std::size_t size) {
  if (share_ == 0) {
    errno = EAGAIN;
    return -1;
  }
  const ssize_t n = ::recv(fd_, into, std::min(size, share_), 0);
  if (n > 0) {
    share_ -= static_cast<std::size_t>(n);
    received_ += static_cast<std::size_t>(n);
  }
  return n;
}

Wire::Step Wire::handshake() {
  ERR_clear_error();
  return tlsStep(SSL_do_handshake(tls_.get()));
}

std::string_view Wire::alpn() const noexcept {
  if (!tls_) return {};
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(tls_.get(), &name, &length);
  return {reinterpret_cast<const char*>(name), length};
}

bool Wire::isResumed() const noexcept { return tls_ && SSL_session_reused(tls_.get()) == 1; }

int Wire::group() const noexcept {
  // What SSL_get_negotiated_group() does, without its cast.
  return tls_ ? static_cast<int>(SSL_ctrl(tls_.get(), SSL_CTRL_GET_NEGOTIATED_GROUP, 0, nullptr))
              : 0;
}

TlsTicket Wire::ticket() const noexcept {
  if (!tls_) return {};
  TlsTicket ticket(SSL_get1_session(tls_.get()));
  if (ticket && SSL_SESSION_is_resumable(ticket.get()) == 0) ticket.reset();
  return ticket;
}

Wire::Step Wire::read(std::span<char> into) {
  if (tls_) {
    ERR_clear_error();
    return tlsStep(SSL_read(tls_.get(), into.data(), static_cast<int>(into.size())));
  }
  const ssize_t n = receive(into.data(), into.size());
  if (n == 0) return {State::closed};
  if (n < 0 && isRetry(errno)) return {share_ == 0 ? State::turnOver : State::wantRead};
  return plainStep(n);
}

Wire::Step Wire::write(std::string_view from) {
  if (tls_) {
    ERR_clear_error();
    return tlsStep(SSL_write(tls_.get(), from.data(), static_cast<int>(from.size())));
  }
  const ssize_t n = ::send(fd_, from.data(), from.size(), MSG_NOSIGNAL);
  if (n < 0 && isRetry(errno)) return {State::wantWrite};
  return plainStep(n);
}

void Wire::sayGoodbye() noexcept {
  if (!tls_) return;
  ERR_clear_error();
  SSL_shutdown(tls_.get());
  ERR_clear_error();
}

Wire::Step Wire::plainStep(ssize_t result) const {
  if (result >= 0) return {State::done, static_cast<std::size_t>(result)};
  return endedBy(errno);
}

Wire::Step Wire::tlsStep(int result) {
  if (result > 0) return {State::done, static_cast<std::size_t>(result)};
  if (messages_ > kMostMessages) {
    ERR_clear_error();
    return {State::failed, 0,
            fmt::format("TLS: more than {} handshake messages, tickets and key updates without an "
                        "answer",
                        kMostMessages)};
  }
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {share_ == 0 ? State::turnOver : State::wantRead};
    case SSL_ERROR_WANT_WRITE:
      return {State::wantWrite};
    case SSL_ERROR_ZERO_RETURN:
      return {State::closed};
    case SSL_ERROR_SYSCALL:
      return error_ == 0 ? Step{State::closed} : endedBy(error_);
    default:  // OpenSSL has more of them, all of which are failures
      if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        ERR_clear_error();
        return {State::closed};
      }
      return {State::failed, 0, takeTlsError()};
  }
}

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL: a peer that is gone would end the process.
const bio_method_st* Wire::bioMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "probe socket");
    BIO_meth_set_read(made, &Wire::bioRead);
    BIO_meth_set_write(made, &Wire::bioWrite);
    BIO_meth_set_ctrl(made, &Wire::bioControl);
    return made;
  }();
  return method;
}

int Wire::bioRead(bio_st* bio, char* into, int size) {
  auto* const self = static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (self->messages_ > kMostMessages) return -1;  // tlsStep() says why
  const ssize_t n = self->receive(into, static_cast<std::size_t>(size));
  self->error_ = n < 0 ? errno : 0;
  if (n < 0 && isRetry(errno)) BIO_set_retry_read(bio);
  if (n == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(n);
}

int Wire::bioWrite(bio_st* bio, const char* from, int size) {
  auto* const self = static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(self->fd_, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  self->error_ = n < 0 ? errno : 0;
  if (n < 0 && isRetry(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

long Wire::bioControl(bio_st* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace weir::manager
