// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/channel.h"
#include "base/fd.h"
#include "weir/result.h"
#include "weir/types.h"

namespace weir {

// A connection to the manager: frames in, frames out, never blocking. A connection ends with an
// error from receive() or flush(); make a new one then.
class ManagerLink {
 public:
  // Connects to "<runDir>/snapshots.sock" and says hello as `program` ("weir-engine"). Fails while
  // the manager is away.
  static Result<ManagerLink> connect(const std::filesystem::path& runDir, std::string_view program);

  int fd() const noexcept { return fd_.get(); }
  bool wantsToWrite() const noexcept { return sent_ < output_.size(); }

  // Reads what has arrived, at most about 16 MiB a call, and returns the whole frames in it. An
  // error: the manager closed, or sent what is no frame.
  Result<std::vector<Frame>> receive();

  // Queues a frame. Answers pile up only when the manager does not read; beyond kMaxOutput the
  // next flush() fails.
  void send(const Frame&);
  Status flush();

  static constexpr std::size_t kMaxOutput = 128u << 20;

 private:
  explicit ManagerLink(Fd fd) noexcept : fd_(std::move(fd)) {}

  Fd fd_;
  FrameReader reader_;
  std::vector<std::uint8_t> output_;
  std::size_t sent_ = 0;
};

// A frame whose payload is JSON text.
Frame textFrame(FrameType, std::uint32_t request, const std::string& json);
// `generation` is in effect. `notKept`: why a start without the manager would have to wait for it;
// empty: it would not.
Frame appliedFrame(Generation generation, const std::string& notKept);

}  // namespace weir
