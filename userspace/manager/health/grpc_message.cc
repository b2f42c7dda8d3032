// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/grpc_message.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace weir::manager {

namespace {

constexpr std::size_t kFrameHeader = 5;
constexpr unsigned kServiceTag = 1 << 3 | 2;  // field 1, length-delimited
constexpr std::uint64_t kStatusField = 1;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
  return bytes += static_cast<char>(value);
}

// Takes a protocol buffer apart; every function is false or nullopt at the end of the bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  bool atEnd() const noexcept { return left_.empty(); }

  std::optional<std::uint64_t> varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }
  bool skip(std::uint64_t bytes) noexcept {
    if (bytes > left_.size()) return false;
    left_.remove_prefix(bytes);
    return true;
  }
  bool skipField(unsigned wireType) noexcept {
    switch (wireType) {
      case 0:
        return varint().has_value();
      case 1:
        return skip(8);
      case 2: {
        const auto length = varint();
        return length && skip(*length);
      }
      case 5:
        return skip(4);
      default:  // groups are of the past, the others do not exist
        return false;
    }
  }

 private:
  std::string_view left_;
};

std::optional<std::uint64_t> statusOf(std::string_view message) noexcept {
  Reader reader(message);
  std::uint64_t status = 0;
  while (!reader.atEnd()) {
    const auto tag = reader.varint();
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    const auto wireType = static_cast<unsigned>(*tag & 7);
    if (*tag >> 3 == kStatusField && wireType == 0) {
      const auto value = reader.varint();
      if (!value) return std::nullopt;
      status = *value;
    } else if (!reader.skipField(wireType)) {
      return std::nullopt;
    }
  }
  return status;
}

}  // namespace

std::string grpcFrame(std::string_view message) {
  std::string frame(1, '\0');
  const auto length = static_cast<std::uint32_t>(message.size());
  for (const unsigned shift : {24u, 16u, 8u, 0u})
    frame += static_cast<char>(length >> shift & 0xff);
  return frame.append(message);
}

std::string healthCheckRequest(std::string_view service) {
  if (service.empty()) return {};
  return varint(kServiceTag).append(varint(service.size())).append(service);
}

Result<std::uint64_t> servingStatus(std::string_view frame) {
  if (frame.size() < kFrameHeader) return Error{"the answer holds no gRPC message"};
  if (frame[0] != 0) return Error{"the gRPC message is compressed, which was not asked for"};
  std::uint32_t length = 0;
  for (std::size_t i = 1; i < kFrameHeader; ++i)
    length = length << 8 | static_cast<unsigned char>(frame[i]);
  if (length != frame.size() - kFrameHeader)
    return Error{"the answer is not exactly one gRPC message"};
  const auto status = statusOf(frame.substr(kFrameHeader));
  if (!status) return Error{"the gRPC message is not a HealthCheckResponse"};
  return *status;
}

std::string servingStatusName(std::uint64_t status) {
  constexpr std::array kNames{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  return status < kNames.size() ? kNames[status] : fmt::format("in the unknown state {}", status);
}

std::string grpcStatusName(unsigned status) {
  constexpr std::array kNames{"OK",
                              "CANCELLED",
                              "UNKNOWN",
                              "INVALID_ARGUMENT",
                              "DEADLINE_EXCEEDED",
                              "NOT_FOUND",
                              "ALREADY_EXISTS",
                              "PERMISSION_DENIED",
                              "RESOURCE_EXHAUSTED",
                              "FAILED_PRECONDITION",
                              "ABORTED",
                              "OUT_OF_RANGE",
                              "UNIMPLEMENTED",
                              "INTERNAL",
                              "UNAVAILABLE",
                              "DATA_LOSS",
                              "UNAUTHENTICATED"};
  return status < kNames.size() ? fmt::format("{} {}", status, kNames[status])
                                : std::to_string(status);
}

}  // namespace weir::manager
