// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the client's side of a TLS 1.3 handshake costs in OpenSSL alone, without sockets and without
// weir: the floor under probes of TLS types. Both sides talk over memory; only the client's steps
// are measured.
//
//   weir_bench_tls_client CERTIFICATE KEY COUNT
//
// A JSON object: medians in microseconds of CPU time for full and for resumed handshakes, each from
// SSL_new() to SSL_free(), with the reading of the server's tickets.
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Connection = std::unique_ptr<SSL, decltype(&SSL_free)>;
using Ticket = std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)>;

int acceptAnyCertificate(X509_STORE_CTX*, void*) { return 1; }

class Stopwatch {
 public:
  template <typename Step>
  auto measure(Step step) {
    const double begun = now();
    const auto result = step();
    spent_ += now() - begun;
    return result;
  }
  double spent() const noexcept { return spent_; }

 private:
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
  }
  double spent_ = 0;
};

struct Found {
  double microseconds = 0;
  bool isDone = false, isResumed = false;
};

// Leaves the server's newest ticket in `ticket`, after having offered the one that is there.
Found shakeHands(SSL_CTX* ours, SSL_CTX* theirs, Ticket& ticket) {
  constexpr std::size_t kRoom = 65'536;
  BIO *ourEnd = nullptr, *theirEnd = nullptr;
  BIO_new_bio_pair(&ourEnd, kRoom, &theirEnd, kRoom);
  const Connection server(SSL_new(theirs), &SSL_free);
  SSL_set_bio(server.get(), theirEnd, theirEnd);
  SSL_set_accept_state(server.get());
  Stopwatch watch;
  Found found;
  SSL* const client = watch.measure([&] {
    SSL* const made = SSL_new(ours);
    if (ticket) SSL_set_session(made, ticket.get());
    SSL_set_bio(made, ourEnd, ourEnd);
    SSL_set_connect_state(made);
    return made;
  });
  for (int turn = 0; turn < 5 && !found.isDone; ++turn) {
    const int clientIs = watch.measure([&] { return SSL_do_handshake(client); });
    found.isDone = SSL_do_handshake(server.get()) == 1 && clientIs == 1;
  }
  char byte = 'x';
  SSL_write(server.get(), &byte, 1);
  watch.measure([&] { return SSL_read(client, &byte, 1); });
  found.isResumed = SSL_session_reused(client) == 1;
  ticket.reset(SSL_get1_session(client));
  watch.measure([&] {
    SSL_set_shutdown(client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(client);
    return 0;
  });
  found.microseconds = watch.spent();
  return found;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main(int argc, char* argv[]) {
  const int count = argc == 4 ? std::atoi(argv[3]) : 0;
  if (count < 1) {
    std::cerr << "usage: weir_bench_tls_client CERTIFICATE KEY COUNT\n";
    return 2;
  }
  const Context ours(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  const Context theirs(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (SSL_CTX_use_certificate_chain_file(theirs.get(), argv[1]) != 1 ||
      SSL_CTX_use_PrivateKey_file(theirs.get(), argv[2], SSL_FILETYPE_PEM) != 1) {
    std::cerr << "cannot use " << argv[1] << " with " << argv[2] << '\n';
    return 1;
  }
  SSL_CTX_set_ciphersuites(ours.get(), "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_cert_verify_callback(ours.get(), acceptAnyCertificate, nullptr);
  SSL_CTX_set_session_cache_mode(ours.get(), SSL_SESS_CACHE_OFF);
  std::vector<double> full, resumed;
  Ticket none(nullptr, &SSL_SESSION_free), ticket(nullptr, &SSL_SESSION_free);
  for (int i = 0; i < count; ++i) {  // in turn, so that what else the machine does meets both alike
    none.reset();
    const Found first = shakeHands(ours.get(), theirs.get(), none);
    if (!ticket) ticket.swap(none);
    const Found second = shakeHands(ours.get(), theirs.get(), ticket);
    if (!first.isDone || !second.isDone || first.isResumed || !second.isResumed) {
      std::cerr << "a handshake went another way than it should\n";
      return 1;
    }
    full.push_back(first.microseconds);
    resumed.push_back(second.microseconds);
  }
  std::cout << "{\"full_us\": " << median(full) << ", \"resumed_us\": " << median(resumed) << "}\n";
  return 0;
}
