// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/state_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "base/replace_file.h"
#include "config/read_file.h"

namespace weir::manager {

namespace {
// More than any configuration makes.
constexpr std::size_t kMostBytes = 1u << 30;
}  // namespace

StateFile::StateFile(boost::asio::io_context& io, std::filesystem::path path,
                     std::function<std::string()> content)
    : path_(std::move(path)), content_(std::move(content)), timer_(io) {}

Result<std::optional<std::string>> StateFile::read() const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return std::optional<std::string>();
  auto text = config::readWholeFile(path_, kMostBytes);
  if (!text) return Error{fmt::format("{} {}", path_.string(), text.error().message)};
  return std::optional(std::move(text).value());
}

void StateFile::changed() {
  if (!std::exchange(dirty_, true)) writeAfter(kDelay);
}

void StateFile::writeAfter(std::chrono::milliseconds delay) {
  timer_.expires_after(delay);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) flush();
  });
}

bool StateFile::flush() {
  if (!dirty_) return true;
  timer_.cancel();
  if (const Status written = replaceFile(path_, content_()); !written) {
    if (written.error().message != notWritten_)
      log::error("a restart of the manager would lose its state; writing it is tried again",
                 {{"REASON", written.error().message}});
    notWritten_ = written.error().message;
    writeAfter(kRetry);
    return false;
  }
  dirty_ = false;
  if (!std::exchange(notWritten_, {}).empty()) log::info("the manager's state is written again");
  return true;
}

}  // namespace weir::manager
