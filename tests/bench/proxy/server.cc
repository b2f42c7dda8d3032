// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_proxy_server PORT
// The backend of `make bench-proxy`; what it does is told in traffic.h.
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <memory>
#include <string>

#include "proxy/traffic.h"

namespace {

using namespace weir;
using namespace weir::bench;

class Server {
 public:
  explicit Server(std::uint16_t port)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
        chunk_(kChunk, 'x') {
    const int on = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(listener_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // its children, too
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 4096) != 0)
      fail("listen");
    poller_.add(listener_, EPOLLIN, 0);
  }

  [[noreturn]] void run() {
    for (;;)
      poller_.turn(-1, [this](std::uint64_t data, std::uint32_t) {
        if (data == 0)
          accept();
        else
          serve(static_cast<int>(data));
      });
  }

 private:
  struct Connection {
    Fd fd;
    char kind = 0;
    std::size_t got = 0;       // of the request
    std::uint64_t toSend = 0;  // of the answer
    bool answered = false;
    std::string request;
  };

  void accept() {
    for (int i = 0; i < 64; ++i) {
      Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) return;
      const int number = fd.get();
      if (connections_.size() <= static_cast<std::size_t>(number))
        connections_.resize(static_cast<std::size_t>(number) + 1024);
      auto& made = connections_[static_cast<std::size_t>(number)];
      made = std::make_unique<Connection>();
      made->fd = std::move(fd);
      poller_.add(made->fd, EPOLLIN | EPOLLOUT | EPOLLET, static_cast<std::uint64_t>(number));
    }
  }

  void serve(int number) {
    auto& connection = connections_[static_cast<std::size_t>(number)];
    if (connection != nullptr && !goOn(*connection)) connection.reset();
  }

  // False: the connection is over.
  bool goOn(Connection& connection) {
    for (;;) {
      if (connection.toSend > 0 && !send(connection)) return errno == EAGAIN;
      if (connection.answered && connection.toSend == 0 && connection.kind != 'K') return false;
      char bytes[4096];
      const ssize_t length = ::recv(connection.fd.get(), bytes, sizeof bytes, 0);
      if (length < 0) return errno == EAGAIN;
      if (length == 0) return false;
      take(connection, {bytes, static_cast<std::size_t>(length)});
    }
  }

  void take(Connection& connection, std::string_view bytes) {
    if (connection.kind == 0) connection.kind = bytes.front();
    connection.got += bytes.size();
    std::size_t wanted = kRequest;
    switch (connection.kind) {
      case 'E':  // as little as fits into any socket buffer: a partial answer is a failure
        if (::send(connection.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(bytes.size()))
          fail("echo");
        return;
      case 'B':
        wanted = kBulkRequest;
        connection.request += bytes;
        break;
      case 0x16:
        connection.request += bytes;
        wanted = 5;
        if (connection.request.size() >= wanted)
          wanted +=
              static_cast<std::size_t>(static_cast<unsigned char>(connection.request[3]) << 8 |
                                       static_cast<unsigned char>(connection.request[4]));
        break;
      default:  // 'S', 'K'
        break;
    }
    if (connection.got < wanted || connection.answered) return;
    connection.answered = true;
    connection.toSend = kAnswer;
    if (connection.kind == 'B')
      std::memcpy(&connection.toSend, connection.request.data() + 1, sizeof connection.toSend);
  }

  // False: errno tells why it has not all been sent.
  bool send(Connection& connection) {
    while (connection.toSend > 0) {
      const auto size = std::min<std::uint64_t>(connection.toSend, chunk_.size());
      const ssize_t sent = ::send(connection.fd.get(), chunk_.data(), size, MSG_NOSIGNAL);
      if (sent < 0) return false;
      connection.toSend -= static_cast<std::uint64_t>(sent);
    }
    return true;
  }

  Poller poller_;
  Fd listener_;
  std::string chunk_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by descriptor
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  raiseDescriptorLimit();
  Server(static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10))).run();
}
