// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/state_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/log.h"

namespace weir::manager {

StateFile::StateFile(boost::asio::io_context& io, std::filesystem::path path,
                     std::function<std::string()> content)
    : path_(std::move(path)), content_(std::move(content)), timer_(io) {}

Result<std::optional<std::string>> StateFile::read() const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return std::optional<std::string>();
  if (!std::filesystem::is_regular_file(path_, error))
    return Error{fmt::format("{} is not a regular file", path_.string())};
  std::ifstream file(path_, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return Error{fmt::format("cannot read {}", path_.string())};
  return std::optional(std::move(text));
}

void StateFile::changed() {
  if (std::exchange(dirty_, true)) return;
  timer_.expires_after(kDelay);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    if (const Status status = flush(); !status.ok())
      log::error("a restart of the manager would lose its state",
                 {{"REASON", status.error().message}});
  });
}

Status StateFile::flush() {
  timer_.cancel();
  if (!std::exchange(dirty_, false)) return success();
  const std::filesystem::path temporary = path_.string() + ".new";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << content_();
  file.close();
  if (!file) return Error{fmt::format("cannot write {}", temporary.string())};
  std::error_code error;
  std::filesystem::rename(temporary, path_, error);
  if (error) return Error{fmt::format("cannot replace {}: {}", path_.string(), error.message())};
  return success();
}

}  // namespace weir::manager
