// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_proxy_client ADDRESS PORT short  COUNT AT_ONCE server|client|NAME
// weir_bench_proxy_client ADDRESS PORT bulk   CONNECTIONS BYTES_EACH
// weir_bench_proxy_client ADDRESS PORT idle   CONNECTIONS
// weir_bench_proxy_client ADDRESS PORT echo   CONNECTIONS ROUNDS
// The clients of `make bench-proxy`; what they say is told in traffic.h. The result is one line of
// JSON. Anything that does not go as it should ends the program: a proxy that loses connections has
// no figures.
//   short  COUNT connections, AT_ONCE at a time; who ends first, or, with a ClientHello that asks
//          for NAME, the server
//   idle   each says a word and hears it; then "ready", and they stay until standard input ends
//   echo   64 bytes there and back on all connections at once; percentiles of the time it takes
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "proxy/traffic.h"
#include "support/client_hello_builder.h"

namespace {

using namespace weir;
using namespace weir::bench;
using Clock = std::chrono::steady_clock;

struct Target {
  sockaddr_in address{};

  Fd connect() const {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
        errno != EINPROGRESS)
      fail("connect");
    return fd;
  }
};

struct Connection {
  Fd fd;
  bool asked = false;
  std::uint64_t got = 0;
  Clock::time_point since;
};

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void say(const Connection& connection, std::string_view bytes) {
  if (::send(connection.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size()))
    fail("send");
}

// Reads what is there, at no cost for copying it; true: the end has come.
bool hear(Connection& connection) {
  for (;;) {
    const ssize_t length = ::recv(connection.fd.get(), nullptr, 4 << 20, MSG_TRUNC);
    if (length == 0) return true;
    if (length < 0 && errno == EAGAIN) return false;
    if (length < 0) fail("recv");
    connection.got += static_cast<std::uint64_t>(length);
  }
}

constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

void runShort(const Target& target, std::size_t count, std::size_t atOnce, std::string_view who) {
  std::string request(kRequest, who == "client" ? 'K' : 'S');
  if (who != "client" && who != "server") {
    // The size of what browsers send today: their post-quantum key shares take most of it.
    const auto hello =
        test::records(test::clientHello({test::helloPadding(1500), test::serverName(who)}));
    request.assign(hello.begin(), hello.end());
  }
  Poller poller;
  std::vector<Connection> connections(atOnce);
  std::size_t begun = 0, done = 0;
  const auto begin = [&](std::size_t index) {
    if (begun == count) return;
    ++begun;
    connections[index] = {target.connect(), false, 0, {}};
    poller.add(connections[index].fd, kEvents, index);
  };
  const auto start = Clock::now();
  for (std::size_t i = 0; i < atOnce; ++i) begin(i);
  while (done < count)
    poller.turn(-1, [&](std::uint64_t index, std::uint32_t events) {
      Connection& connection = connections[index];
      if (!connection.asked && (events & EPOLLOUT) != 0) {
        say(connection, request);
        connection.asked = true;
      }
      if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) == 0) return;
      const bool ended = hear(connection);
      if (ended && connection.got != kAnswer) {
        std::fprintf(stderr, "an answer of %llu bytes\n",
                     static_cast<unsigned long long>(connection.got));
        std::exit(1);
      }
      if (!ended && !(who == "client" && connection.got == kAnswer)) return;
      connection.fd.reset();
      ++done;
      begin(index);
    });
  std::printf("{\"seconds\": %.4f, \"connections\": %zu}\n", secondsSince(start), done);
}

void runBulk(const Target& target, std::size_t count, std::uint64_t bytesEach) {
  std::string request("B");
  request.append(reinterpret_cast<const char*>(&bytesEach), sizeof bytesEach);
  Poller poller;
  std::vector<Connection> connections(count);
  std::size_t done = 0;
  const auto start = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    connections[i].fd = target.connect();
    poller.add(connections[i].fd, kEvents, i);
  }
  while (done < count)
    poller.turn(-1, [&](std::uint64_t index, std::uint32_t events) {
      Connection& connection = connections[index];
      if (!connection.asked && (events & EPOLLOUT) != 0) {
        say(connection, request);
        connection.asked = true;
      }
      if (!connection.asked || !connection.fd || !hear(connection)) return;
      if (connection.got != bytesEach) fail("bytes are missing");
      connection.fd.reset();
      ++done;
    });
  std::printf("{\"seconds\": %.4f, \"bytes\": %llu}\n", secondsSince(start),
              static_cast<unsigned long long>(bytesEach * count));
}

// Rounds of 64 bytes there and back on every connection; the times in microseconds.
std::vector<double> echo(const Target& target, std::vector<Connection>& connections,
                         std::size_t rounds) {
  const std::string word(kEcho, 'E');
  Poller poller;
  std::vector<double> times;
  times.reserve(connections.size() * rounds);
  std::size_t done = 0, begun = 0;
  std::vector<std::size_t> left(connections.size(), rounds);
  // Few at a time, so that no queue of connections that wait to be accepted is too short.
  const auto begin = [&] {
    if (begun == connections.size()) return;
    connections[begun].fd = target.connect();
    poller.add(connections[begun].fd, kEvents, begun);
    ++begun;
  };
  const auto ask = [&](Connection& connection) {
    connection.got = 0;
    connection.asked = true;
    connection.since = Clock::now();
    say(connection, word);
  };
  for (int i = 0; i < 64; ++i) begin();
  while (done < connections.size())
    poller.turn(-1, [&](std::uint64_t index, std::uint32_t events) {
      Connection& connection = connections[index];
      if (!connection.asked && (events & EPOLLOUT) != 0) return ask(connection);
      if (hear(connection)) fail("ended");
      if (!connection.asked || connection.got < kEcho || left[index] == 0) return;
      times.push_back(secondsSince(connection.since) * 1e6);
      if (--left[index] > 0) return ask(connection);
      ++done;
      begin();
    });
  return times;
}

void runIdle(const Target& target, std::size_t count) {
  std::vector<Connection> connections(count);
  echo(target, connections, 1);
  std::puts("ready");
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

void runEcho(const Target& target, std::size_t count, std::size_t rounds) {
  std::vector<Connection> connections(count);
  auto times = echo(target, connections, rounds);
  std::ranges::sort(times);
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf("{\"p50\": %.1f, \"p99\": %.1f, \"rounds\": %zu}\n", at(0.5), at(0.99), times.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return std::fprintf(stderr, "the arguments are told in client.cc\n"), 2;
  raiseDescriptorLimit();
  Target target;
  target.address.sin_family = AF_INET;
  target.address.sin_port = htons(static_cast<std::uint16_t>(std::strtoul(argv[2], nullptr, 10)));
  if (::inet_pton(AF_INET, argv[1], &target.address.sin_addr) != 1) fail(argv[1]);
  const std::string_view mode(argv[3]);
  const auto number = [&](int i) { return i < argc ? std::strtoull(argv[i], nullptr, 10) : 0; };
  if (mode == "short")
    runShort(target, number(4), number(5), argc > 6 ? argv[6] : "server");
  else if (mode == "bulk")
    runBulk(target, number(4), number(5));
  else if (mode == "idle")
    runIdle(target, number(4));
  else if (mode == "echo")
    runEcho(target, number(4), number(5));
  else
    return std::fprintf(stderr, "unknown mode '%s'\n", argv[3]), 2;
  return 0;
}
