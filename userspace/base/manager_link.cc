// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/manager_link.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

namespace weir {

namespace {

constexpr std::size_t kMaxReadBytes = 16u << 20;

const auto kProcessStarted = std::chrono::steady_clock::now();

std::string hello(std::string_view program) {
  const auto age = std::chrono::steady_clock::now() - kProcessStarted;
  return fmt::format(R"({{"program":"{}","pid":{},"version":"{}","uptimeSec":{}}})", program,
                     ::getpid(), WEIR_VERSION,
                     std::chrono::duration_cast<std::chrono::seconds>(age).count());
}

}  // namespace

Frame textFrame(FrameType type, std::uint32_t request, const std::string& json) {
  return {type, request, std::vector<std::uint8_t>(json.begin(), json.end())};
}

Frame appliedFrame(Generation generation, const std::string& notKept) {
  nlohmann::json body{{"generation", generation.value()}};
  if (!notKept.empty()) body["notKept"] = notKept;
  return textFrame(FrameType::applied, 0,
                   body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<ManagerLink> ManagerLink::connect(const std::filesystem::path& runDir,
                                         std::string_view program) {
  const std::string path = (runDir / "snapshots.sock").string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{fmt::format("the socket's path is too long: {}", path)};
  path.copy(address.sun_path, path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error{fmt::format("cannot open a socket: {}", std::strerror(errno))};
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Error{fmt::format("cannot connect to {}: {}", path, std::strerror(errno))};
  ManagerLink link(std::move(fd));
  link.send(textFrame(FrameType::hello, 0, hello(program)));
  if (Status status = link.flush(); !status) return status.error();
  return link;
}

Result<std::vector<Frame>> ManagerLink::receive() {
  std::vector<std::uint8_t> buffer(256u << 10);
  bool closed = false;
  for (std::size_t total = 0; total < kMaxReadBytes;) {
    const ssize_t length = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (length > 0) {
      reader_.feed(std::span(buffer).first(static_cast<std::size_t>(length)));
      total += static_cast<std::size_t>(length);
      continue;
    }
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    closed = true;
    break;
  }
  std::vector<Frame> frames;
  for (;;) {
    auto frame = reader_.next();
    if (!frame) return frame.error();
    if (!*frame) break;
    frames.push_back(std::move(**frame));
  }
  // What came before the end is still good; the end itself is met again by the next call.
  if (closed && frames.empty()) return Error{"the manager closed the connection"};
  return frames;
}

void ManagerLink::send(const Frame& frame) {
  const auto bytes = serialize(frame);
  output_.insert(output_.end(), bytes.begin(), bytes.end());
}

Status ManagerLink::flush() {
  if (output_.size() - sent_ > kMaxOutput) return Error{"the manager does not read its answers"};
  while (sent_ < output_.size()) {
    const ssize_t length =
        ::send(fd_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
    if (length >= 0) {
      sent_ += static_cast<std::size_t>(length);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return success();
    return Error{fmt::format("cannot write to the manager: {}", std::strerror(errno))};
  }
  output_.clear();
  sent_ = 0;
  return success();
}

}  // namespace weir
