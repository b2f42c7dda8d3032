// SPDX-License-Identifier: GPL-2.0-or-later
//
// The server's side of a TLS connection, with a key made for it.
#pragma once

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace weir::manager {

class TlsServer {
 public:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

  explicit TlsServer(const Key& key = Key(EVP_EC_gen("P-256"), &EVP_PKEY_free))
      : context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    SSL_CTX_use_certificate(context_.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), key.get());
  }

  // TLS 1.2 with a Diffie-Hellman group of this name ("ffdhe8192").
  static TlsServer withGroup(const char* name) {
    TlsServer server(Key(EVP_RSA_gen(2048), &EVP_PKEY_free));
    SSL_CTX* const context = server.context_.get();
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "DHE-RSA-AES128-GCM-SHA256");
    EVP_PKEY_CTX* const maker = EVP_PKEY_CTX_new_from_name(nullptr, "DH", nullptr);
    EVP_PKEY* parameters = nullptr;
    std::string group = name;
    const OSSL_PARAM wanted[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group.data(), 0),
        OSSL_PARAM_construct_end()};
    EVP_PKEY_paramgen_init(maker);
    EVP_PKEY_CTX_set_params(maker, wanted);
    EVP_PKEY_paramgen(maker, &parameters);
    EVP_PKEY_CTX_free(maker);
    SSL_CTX_set0_tmp_dh_pkey(context, parameters);
    return server;
  }

  SSL_CTX* context() const noexcept { return context_.get(); }
  // Tickets that it gave so far are not taken any more.
  void forgetTickets() {
    unsigned char keys[80];
    RAND_bytes(keys, sizeof keys);
    SSL_CTX_set_tlsext_ticket_keys(context_.get(), keys, sizeof keys);
  }
  // Full handshakes fail for want of a usable certificate, or work again; resumed ones go on.
  void breakCertificate(bool broken) {
    SSL_CTX_set_cert_cb(
        context_.get(), [](SSL*, void* fails) { return fails == nullptr ? 1 : 0; },
        broken ? this : nullptr);
  }
  // A ClientHello with a ticket makes it end the handshake with an alert.
  void failOverTickets() {
    SSL_CTX_set_client_hello_cb(
        context_.get(),
        [](SSL* session, int*, void*) {
          const unsigned char* data = nullptr;
          std::size_t size = 0;
          return SSL_client_hello_get0_ext(session, TLSEXT_TYPE_psk, &data, &size) == 1
                     ? SSL_CLIENT_HELLO_ERROR
                     : SSL_CLIENT_HELLO_SUCCESS;
        },
        nullptr);
  }

  // A connection over a blocking socket. What it sends waits for takeSent().
  class Connection {
   public:
    Connection(const TlsServer& server, int fd)
        : session_(SSL_new(server.context_.get()), &SSL_free) {
      SSL_set_fd(session_.get(), fd);
      isUp_ = SSL_accept(session_.get()) == 1;
      sent_ = BIO_new(BIO_s_mem());
      SSL_set0_wbio(session_.get(), sent_);
    }
    bool isUp() const noexcept { return isUp_; }
    bool isResumed() const { return SSL_session_reused(session_.get()) == 1; }
    void updateKey() {
      SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
      SSL_do_handshake(session_.get());
    }
    void write(const std::string& text) {
      SSL_write(session_.get(), text.data(), static_cast<int>(text.size()));
    }
    // All records so far.
    std::string takeSent() {
      std::string bytes(BIO_ctrl_pending(sent_), '\0');
      BIO_read(sent_, bytes.data(), static_cast<int>(bytes.size()));
      return bytes;
    }

   private:
    std::unique_ptr<SSL, decltype(&SSL_free)> session_;
    BIO* sent_ = nullptr;
    bool isUp_ = false;
  };

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

}  // namespace weir::manager
