// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/channel.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {

namespace {

constexpr std::size_t kHeaderBytes = 12;

void putLittle(std::vector<std::uint8_t>& out, std::uint32_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

std::uint32_t getLittle(const std::uint8_t* p, unsigned bytes) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= static_cast<std::uint32_t>(p[i]) << (8 * i);
  return value;
}

bool isKnown(std::uint32_t type) {
  return type >= static_cast<std::uint32_t>(FrameType::snapshot) &&
         type <= static_cast<std::uint32_t>(FrameType::response);
}

}  // namespace

std::vector<std::uint8_t> serialize(const Frame& frame) {
  std::vector<std::uint8_t> out;
  out.reserve(kHeaderBytes + frame.payload.size());
  putLittle(out, static_cast<std::uint32_t>(frame.payload.size()), 4);
  putLittle(out, static_cast<std::uint32_t>(frame.type), 2);
  putLittle(out, 0, 2);
  putLittle(out, frame.request, 4);
  out.insert(out.end(), frame.payload.begin(), frame.payload.end());
  return out;
}

void FrameReader::feed(std::span<const std::uint8_t> bytes) {
  // What has been consumed is dropped here, once per portion, so that next() never moves bytes.
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(consumed_));
  consumed_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::size_t available = buffer_.size() - consumed_;
  if (available < kHeaderBytes) return std::optional<Frame>();
  const std::uint8_t* header = buffer_.data() + consumed_;
  const std::size_t length = getLittle(header, 4);
  const std::uint32_t type = getLittle(header + 4, 2);
  // The header is judged before its payload is waited for: garbage must not make us buffer.
  if (length > kMaxFramePayload)
    return Error{
        fmt::format("frame of {} bytes is larger than the limit of {}", length, kMaxFramePayload)};
  if (!isKnown(type)) return Error{fmt::format("frame of unknown type {}", type)};
  if (getLittle(header + 6, 2) != 0) return Error{"frame whose reserved bytes are not zero"};
  if (available - kHeaderBytes < length) return std::optional<Frame>();

  Frame frame{static_cast<FrameType>(type), getLittle(header + 8, 4), {}};
  frame.payload.assign(header + kHeaderBytes, header + kHeaderBytes + length);
  consumed_ += kHeaderBytes + length;
  return std::optional<Frame>(std::move(frame));
}

}  // namespace weir
