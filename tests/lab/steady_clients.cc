// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_steady_clients ADDRESS PORT HELD NEW_PER_SECOND REQUESTS_PER_SECOND [reopen]: keeps HELD
// connections open, asks over each of them REQUESTS_PER_SECOND times a second, and opens
// NEW_PER_SECOND further ones that end after one request, until its standard input ends. With
// `reopen` a held connection that ended is followed by another. The server's answer begins with its
// name, so that a connection that was moved is seen, not only one that was reset.
//
// Prints one line of JSON when all held connections are open (port and backend of each), and one at
// the end:
//   held  [{port, backend, opened, answers, requests, slowest_s, moved, error, ended}], answers:
//   when new   [[port, began, ended, backend or null, error or null]] load  {cpu_s, latest_s}: what
//   the clients themselves took, and by how much a turn of theirs was
//         late at most, so that who looks at the figures can tell the machine from what is measured
// Times are those of CLOCK_MONOTONIC, the same in every process of the machine. A program and no
// script: thousands of requests a second are to leave the machine to those who are tested.

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: lab\r\n\r\n";
// TCP repeats a lost packet after 1, 2, 4 ... seconds: whoever was lost for ten seconds by a slow
// machine waits up to twice that. What is longer than this is lost for good.
constexpr double kPatience = 90.0;
constexpr std::size_t kMostOpen = 3000;
// So that the servers' queues of new connections do not overflow.
constexpr std::size_t kMostConnecting = 100;

double now() {
  timespec value{};
  ::clock_gettime(CLOCK_MONOTONIC, &value);
  return static_cast<double>(value.tv_sec) + static_cast<double>(value.tv_nsec) * 1e-9;
}

struct Connection {
  int fd = -1;
  bool held = false, connecting = true, waiting = true, moved = false;
  unsigned port = 0;
  double opened = 0, asked = 0, slowest = 0;
  std::optional<double> ended;
  std::string answer, backend, error;
  std::vector<double> answers;
};
using Shared = std::shared_ptr<Connection>;

struct Options {
  sockaddr_storage target{};
  socklen_t targetLength = 0;
  std::size_t held = 0;
  double perSecond = 0, requestsPerSecond = 1;
  bool reopen = false;
};

class Clients {
 public:
  explicit Clients(const Options& options)
      : options_(options), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  void run() {
    double due = now(), swept = due, before = due;
    std::optional<double> stopping;
    while (!stopping || (openNew_ > 0 && now() < *stopping + kPatience + 1)) {
      const double at = now();
      latest_ = std::max(latest_, at - before);
      while (held_.size() < options_.held && connectingHeld_ < kMostConnecting) begin(true, at);
      if (tellWhenAllAreOpen()) due = at;
      if (told_ && !stopping && options_.perSecond > 0)
        for (; due <= at && open_.size() < options_.held + kMostOpen; due += 1 / options_.perSecond)
          begin(false, at);
      due = std::max(due, at - 1);
      askThoseWhoseTurnItIs(at);
      before = now() + 0.002;
      std::array<epoll_event, 1024> events;
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 2);
      for (int i = 0; i < count; ++i)
        if (const auto found = open_.find(events[static_cast<std::size_t>(i)].data.fd);
            found != open_.end())
          goOn(Shared(found->second));
      if (at > swept + 1) {
        swept = at;
        endThoseWithoutAnswer(at);
      }
      if (!stopping && inputEnded()) {
        stopping = at;
        stopping_ = true;
      }
    }
    report();
  }

 private:
  struct Turn {
    double at;
    Shared connection;
    bool operator<(const Turn& other) const { return at > other.at; }
  };

  static bool inputEnded() {
    pollfd input{0, POLLIN | POLLHUP, 0};
    return ::poll(&input, 1, 0) > 0;
  }

  void begin(bool held, double at) {
    auto c = std::make_shared<Connection>();
    c->held = held;
    c->opened = c->asked = at;
    (held ? held_ : new_).push_back(c);
    c->fd = ::socket(options_.target.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const linger reset{1, 0};  // no TIME_WAIT: ports are needed again soon
    const int on = 1;
    ::setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    ::setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto* target = reinterpret_cast<const sockaddr*>(&options_.target);
    if (c->fd < 0 ||
        (::connect(c->fd, target, options_.targetLength) != 0 && errno != EINPROGRESS)) {
      c->error = fmt::format("open: {}", std::strerror(errno));
      c->ended = at;
      if (c->fd >= 0) ::close(c->fd);
      return;
    }
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    ::getsockname(c->fd, reinterpret_cast<sockaddr*>(&own), &length);
    c->port = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                              : reinterpret_cast<sockaddr_in&>(own).sin_port);
    epoll_event event{};
    event.events = EPOLLOUT;
    event.data.fd = c->fd;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, c->fd, &event);
    open_[c->fd] = c;
    ++(held ? connectingHeld_ : openNew_);
  }

  void end(Connection& c, double at, std::string error = {}) {
    if (c.held && c.connecting) --connectingHeld_;
    if (!c.held) --openNew_;
    c.error = std::move(error);
    c.ended = at;
    open_.erase(c.fd);
    ::close(c.fd);
    if (c.held && options_.reopen && told_ && !stopping_) begin(true, at);
  }

  // False: it has ended.
  bool ask(Connection& c, double asked) {
    c.asked = asked;
    c.waiting = true;
    c.answer.clear();
    if (::send(c.fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) >= 0) return true;
    end(c, now(), fmt::format("ask: {}", std::strerror(errno)));
    return false;
  }

  void goOn(const Shared& c) {
    const double at = now();
    if (c->connecting) {
      int code = 0;
      socklen_t length = sizeof code;
      ::getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &code, &length);
      if (code != 0) return end(*c, at, fmt::format("connect: {}", std::strerror(code)));
      if (c->held) --connectingHeld_;
      c->connecting = false;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = c->fd;
      ::epoll_ctl(epoll_, EPOLL_CTL_MOD, c->fd, &event);
      ask(*c, c->opened);  // an answer's time includes the handshake
      return;
    }
    std::array<char, 4096> part;
    const ssize_t got = ::recv(c->fd, part.data(), part.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) return end(*c, at, fmt::format("answer: {}", std::strerror(errno)));
    if (got == 0) return end(*c, at, "answer: closed by the server");
    c->answer.append(part.data(), static_cast<std::size_t>(got));
    hear(c, at);
  }

  void hear(const Shared& c, double at) {
    const std::size_t head = c->answer.find("\r\n\r\n");
    if (head == std::string::npos || !c->answer.ends_with('\n') || c->answer.size() == head + 4)
      return;
    if (!c->answer.starts_with("HTTP/1.1 200"))
      return end(*c, at, "answer: " + c->answer.substr(0, c->answer.find('\r')));
    const std::string name = c->answer.substr(head + 4, c->answer.find(' ', head + 4) - head - 4);
    c->moved = c->moved || (!c->backend.empty() && c->backend != name);
    if (c->backend.empty()) c->backend = name;
    c->answers.push_back(at);
    c->slowest = std::max(c->slowest, at - c->asked);
    c->waiting = false;
    if (!c->held) return end(*c, at);
    turns_.push({at + 1 / options_.requestsPerSecond, c});
  }

  void askThoseWhoseTurnItIs(double at) {
    while (!turns_.empty() && turns_.top().at <= at) {
      const Shared c = turns_.top().connection;
      turns_.pop();
      if (!c->ended) ask(*c, at);
    }
  }

  void endThoseWithoutAnswer(double at) {
    std::vector<Shared> late;
    for (const auto& [fd, c] : open_)
      if (c->waiting && at - c->asked > kPatience) late.push_back(c);
    for (const Shared& c : late) end(*c, at, "no answer");
  }

  bool tellWhenAllAreOpen() {
    if (told_ || held_.size() < options_.held || !std::ranges::all_of(held_, [](const Shared& c) {
          return !c->backend.empty() || c->ended;
        }))
      return false;
    told_ = true;
    std::string line;
    for (const Shared& c : held_)
      line += fmt::format("{}[{},{}]", line.empty() ? "" : ",", c->port, text(c->backend));
    std::printf("[%s]\n", line.c_str());
    std::fflush(stdout);
    return true;
  }

  // As JSON; empty: null. Names and errors have neither quotes nor control characters, but for
  // what a broken server sends.
  static std::string text(const std::string& value) {
    if (value.empty()) return "null";
    std::string quoted = "\"";
    for (const char c : value)
      if (c >= ' ' && c < 0x7f && c != '"' && c != '\\') quoted += c;
    return quoted + "\"";
  }

  void report() const {
    std::string held, fresh;
    for (const Shared& c : held_) {
      std::string answers;
      for (const double at : c->answers)
        answers += fmt::format("{}{:.3f}", answers.empty() ? "" : ",", at);
      held += fmt::format(
          R"({}{{"port":{},"backend":{},"opened":{},"answers":[{}],"requests":{},"slowest_s":{},"moved":{},"error":{},"ended":{}}})",
          held.empty() ? "" : ",", c->port, text(c->backend), c->opened, answers, c->answers.size(),
          c->slowest, c->moved, text(c->error), c->ended ? fmt::format("{}", *c->ended) : "null");
    }
    for (const Shared& c : new_)
      if (c->ended)
        fresh += fmt::format("{}[{},{},{},{},{}]", fresh.empty() ? "" : ",",
                             c->port == 0 ? "null" : std::to_string(c->port), c->opened, *c->ended,
                             text(c->backend), text(c->error));
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& value) {
      return static_cast<double>(value.tv_sec) + static_cast<double>(value.tv_usec) * 1e-6;
    };
    fmt::print(R"({{"held":[{}],"new":[{}],"load":{{"cpu_s":{:.2f},"latest_s":{:.3f}}}}})"
               "\n",
               held, fresh, seconds(use.ru_utime) + seconds(use.ru_stime), latest_);
  }

  Options options_;
  int epoll_;
  std::unordered_map<int, Shared> open_;
  std::vector<Shared> held_, new_;
  std::priority_queue<Turn> turns_;
  std::size_t connectingHeld_ = 0, openNew_ = 0;
  double latest_ = 0;
  bool told_ = false, stopping_ = false;
};

// nullopt: the words are wrong.
std::optional<Options> parse(int argc, char** argv) {
  if (argc != 6 && argc != 7) return std::nullopt;
  Options options;
  options.reopen = argc == 7 && std::string_view(argv[6]) == "reopen";
  if (argc == 7 && !options.reopen) return std::nullopt;
  const auto port = htons(static_cast<std::uint16_t>(std::atoi(argv[2])));
  sockaddr_in ipv4{};
  sockaddr_in6 ipv6{};
  if (::inet_pton(AF_INET, argv[1], &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = port;
    std::memcpy(&options.target, &ipv4, options.targetLength = sizeof ipv4);
  } else if (::inet_pton(AF_INET6, argv[1], &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = port;
    std::memcpy(&options.target, &ipv6, options.targetLength = sizeof ipv6);
  } else {
    return std::nullopt;
  }
  options.held = static_cast<std::size_t>(std::atol(argv[3]));
  options.perSecond = std::atof(argv[4]);
  options.requestsPerSecond = std::atof(argv[5]);
  if (options.requestsPerSecond <= 0) return std::nullopt;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    std::fputs(
        "usage: weir_steady_clients ADDRESS PORT HELD NEW_PER_SECOND REQUESTS_PER_SECOND "
        "[reopen]\n",
        stderr);
    return 2;
  }
  Clients(*options).run();
  return 0;
}
