// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <new>
#include <string_view>

namespace weir::manager {

namespace {

std::string_view wireForm(Alpn alpn) noexcept {
  switch (alpn) {
    case Alpn::none:
      return {};
    case Alpn::http1:
      return "\x08http/1.1";
    case Alpn::http2:
      return "\x02h2";
  }
  return {};
}

int acceptAnyCertificate(X509_STORE_CTX*, void*) { return 1; }

}  // namespace

void TlsSessionDeleter::operator()(ssl_st* session) const noexcept { SSL_free(session); }
void TlsContext::Deleter::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }

TlsContext::TlsContext() : context_(SSL_CTX_new(TLS_client_method())) {
  SSL_CTX* const context = context_.get();
  if (context == nullptr) throw std::bad_alloc();
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0");
  // The cheapest first: with SHA-256 a handshake costs a twentieth less than with SHA-384.
  SSL_CTX_set_ciphersuites(context,
                           "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                           "TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, 0);  // whatever the system's configuration says
  SSL_CTX_set_options(context, SSL_OP_LEGACY_SERVER_CONNECT);
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  // Spares building a chain whose verdict nobody asks for.
  SSL_CTX_set_cert_verify_callback(context, acceptAnyCertificate, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // Thousands of connections may hang at once: their buffers exist while they are used.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
}

TlsSession TlsContext::newSession(Alpn alpn, const std::string& serverName) const {
  TlsSession session(SSL_new(context_.get()));
  if (!session) throw std::bad_alloc();
  const std::string_view protocols = wireForm(alpn);
  if (!protocols.empty())
    SSL_set_alpn_protos(session.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
  if (!serverName.empty()) {
    // What SSL_set_tlsext_host_name() does, without its casts.
    SSL_ctrl(session.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(serverName.c_str()));
  }
  SSL_set_connect_state(session.get());
  return session;
}

std::string takeTlsError() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const int reason = ERR_GET_REASON(error);
  if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
    switch (reason) {
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_HTTP_REQUEST:
      case SSL_R_PACKET_LENGTH_TOO_LONG:
      case SSL_R_RECORD_TOO_SMALL:
      case SSL_R_UNEXPECTED_MESSAGE:
        return "the answer is not TLS";
      default:  // OpenSSL has hundreds
        break;
    }
    if (reason > SSL_AD_REASON_OFFSET)
      return fmt::format("TLS alert: {}",
                         SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
  }
  const char* const text = ERR_reason_error_string(error);
  return fmt::format("TLS: {}", text != nullptr ? text : "unknown error");
}

}  // namespace weir::manager
