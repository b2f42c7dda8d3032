// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
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

// A server of TLS 1.2 may choose a group of 10,000 bits, which would keep the event loop for a
// second; those that are in use have 4,096 at most. Nothing else is too weak or too strong.
constexpr int kMostDhBits = 4096;

int allowAllButHugeGroups(const SSL*, const SSL_CTX*, int operation, int, int, void* other, void*) {
  if (operation != SSL_SECOP_TMP_DH || other == nullptr) return 1;
  return EVP_PKEY_get_bits(static_cast<const EVP_PKEY*>(other)) <= kMostDhBits ? 1 : 0;
}

// A client guesses which group the server will choose; a wrong guess costs another round trip and
// another key. OpenSSL's order, without what allowAllButHugeGroups() refuses, behind this one.
void preferGroup(SSL* session, int group) noexcept {
  std::array<int, 8> groups{NID_X25519,    NID_X9_62_prime256v1, NID_X448,      NID_secp521r1,
                            NID_secp384r1, NID_ffdhe2048,        NID_ffdhe3072, NID_ffdhe4096};
  const auto found = std::find(groups.begin(), groups.end(), group);
  if (found == groups.end() || found == groups.begin()) return;
  std::rotate(groups.begin(), found, found + 1);
  // What SSL_set1_groups() does, without its cast.
  SSL_ctrl(session, SSL_CTRL_SET_GROUPS, static_cast<long>(groups.size()), groups.data());
}

}  // namespace

void TlsSessionDeleter::operator()(ssl_st* session) const noexcept {
  // Without goodbyes OpenSSL would take what is to be resumed for spoilt; probes end with a reset.
  SSL_set_shutdown(session, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  SSL_free(session);
}
void TlsTicketDeleter::operator()(ssl_session_st* ticket) const noexcept {
  SSL_SESSION_free(ticket);
}
void TlsContext::Deleter::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }

TlsContext::TlsContext() : context_(SSL_CTX_new(TLS_client_method())) {
  SSL_CTX* const context = context_.get();
  if (context == nullptr) throw std::bad_alloc();
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_security_callback(context, allowAllButHugeGroups);
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
  // One recv() for a server's whole flight, rather than two for each of its records.
  SSL_CTX_set_read_ahead(context, 1);
  // Thousands of connections may hang at once: their buffers exist while they are used.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
}

TlsSession TlsContext::newSession(Alpn alpn, const std::string& serverName, ssl_session_st* ticket,
                                  int group) const {
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
  preferGroup(session.get(), group);
  if (ticket != nullptr) SSL_set_session(session.get(), ticket);
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
      case SSL_R_DH_KEY_TOO_SMALL:  // OpenSSL's only word for what allowAllButHugeGroups() refuses
        return fmt::format("TLS: the server's Diffie-Hellman group has more than {} bits",
                           kMostDhBits);
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
