// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/wire.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

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

Wire::Step Wire::read(std::span<char> into) {
  if (tls_) {
    ERR_clear_error();
    return tlsStep(SSL_read(tls_.get(), into.data(), static_cast<int>(into.size())));
  }
  const ssize_t n = ::recv(fd_, into.data(), into.size(), 0);
  if (n == 0) return {State::closed};
  if (n < 0 && isRetry(errno)) return {State::wantRead};
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
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {State::wantRead};
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
  const ssize_t n = ::recv(self->fd_, into, static_cast<std::size_t>(size), 0);
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
