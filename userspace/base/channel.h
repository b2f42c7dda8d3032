// SPDX-License-Identifier: GPL-2.0-or-later
//
// Frames between the manager and a data plane, over the stream socket `snapshots.sock` in the run
// directory. The manager listens; data planes connect, and connect again for ever when the manager
// is gone. A frame is a 12-byte header in little-endian order (u32 payload length, u16 type, u16
// zero, u32 request number) and the payload.
//
//   manager -> data plane   snapshot   encode() of a SnapshotMessage; after connecting the manager
//                                      sends NodeSnapshot, SyncBegin, everything, SyncEnd
//                           request    JSON {"op": ...}; answered by a response with its number
//   data plane -> manager   hello      JSON {"program": "weir-engine", "pid": N, "version": "...",
//                                      "uptimeSec": N}, the latter of the process
//                           applied    JSON {"generation": N}: snapshots up to N are in effect
//                           response   JSON; {"error": "..."} when refused
//
// Operations of the engine (fields in brackets are optional):
//   {"op":"stats"}                                   counters, see engine/stats.h
//   {"op":"count",  ["service","client","backend"]}  -> {"count": N}
//   {"op":"list",   [the same], ["limit"]}           -> {"connections": [...], "truncated": bool}
//   {"op":"flush",  [the same]}                      -> {"flushed": N}
//   {"op":"explain","packet":{"src","dst","proto","sport","dport","flags":[...]}}
//                                                    -> see engine/explain.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/result.h"

namespace weir {

enum class FrameType : std::uint16_t {
  snapshot = 1,
  request = 2,
  hello = 3,
  applied = 4,
  response = 5
};

struct Frame {
  FrameType type{};
  std::uint32_t request = 0;
  std::vector<std::uint8_t> payload;
};

inline constexpr std::size_t kMaxFramePayload = 64u << 20;

std::vector<std::uint8_t> serialize(const Frame&);

// Takes bytes in any portions, gives frames. An error is final: close the connection.
class FrameReader {
 public:
  void feed(std::span<const std::uint8_t>);
  // The next whole frame; nullopt: more bytes are needed.
  Result<std::optional<Frame>> next();

 private:
  std::vector<std::uint8_t> buffer_;
  std::size_t consumed_ = 0;
};

}  // namespace weir
