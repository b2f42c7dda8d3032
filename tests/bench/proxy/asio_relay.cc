// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_proxy_asio ADDRESS PORT SERVER_PORT SERVER...
// The least TCP proxy that can be written with Boost.Asio, one thread: accept, connect to the next
// server, copy both ways, pass ends on. No timeouts, no retries, no balancing worth the name, no
// log; it exists to say what the library's loop costs beside weir's own.
// clang-format off: Asio of Boost 1.74 needs <utility> and does not include it.
#include <utility>
// clang-format on

#include <array>
#include <boost/asio.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  explicit Relay(tcp::socket client)
      : client_(std::move(client)), server_(client_.get_executor()) {}

  void begin(const tcp::endpoint& to) {
    server_.async_connect(to, [self = shared_from_this()](error_code error) {
      if (error) return;
      self->server_.set_option(tcp::no_delay(true));
      self->client_.set_option(tcp::no_delay(true));
      self->copy(self->client_, self->server_, self->up_);
      self->copy(self->server_, self->client_, self->down_);
    });
  }

 private:
  using Buffer = std::array<char, 16'384>;

  void copy(tcp::socket& from, tcp::socket& to, Buffer& buffer) {
    from.async_read_some(asio::buffer(buffer), [this, self = shared_from_this(), &from, &to,
                                                &buffer](error_code error, std::size_t size) {
      if (error) {
        error_code ignored;
        to.shutdown(tcp::socket::shutdown_send, ignored);
        return;
      }
      asio::async_write(to, asio::buffer(buffer.data(), size),
                        [this, self, &from, &to, &buffer](error_code failed, std::size_t) {
                          if (!failed) copy(from, to, buffer);
                        });
    });
  }

  tcp::socket client_, server_;
  Buffer up_, down_;
};

class Acceptor {
 public:
  Acceptor(asio::io_context& loop, const tcp::endpoint& at, std::vector<tcp::endpoint> servers)
      : acceptor_(loop, at), servers_(std::move(servers)) {
    acceptor_.listen(4096);
    accept();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket client) {
      if (!error)
        std::make_shared<Relay>(std::move(client))->begin(servers_[next_++ % servers_.size()]);
      accept();
    });
  }

  tcp::acceptor acceptor_;
  std::vector<tcp::endpoint> servers_;
  std::size_t next_ = 0;
};

tcp::endpoint endpoint(const char* address, const char* port) {
  return {asio::ip::make_address(address),
          static_cast<unsigned short>(std::strtoul(port, nullptr, 10))};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5)
    return std::fprintf(stderr, "usage: %s ADDRESS PORT SERVER_PORT SERVER...\n", argv[0]), 2;
  std::vector<tcp::endpoint> servers;
  for (int i = 4; i < argc; ++i) servers.push_back(endpoint(argv[i], argv[3]));
  asio::io_context loop(1);
  const Acceptor acceptor(loop, endpoint(argv[1], argv[2]), std::move(servers));
  loop.run();
}
