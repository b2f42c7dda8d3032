// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/grpc_dialogue.h"

#include <fmt/format.h>

#include <charconv>

#include "manager/health/answer.h"
#include "manager/health/grpc_message.h"
#include "manager/health/http_judge.h"
#include "manager/health/load_metrics.h"

namespace weir::manager {

namespace {

constexpr unsigned kNotFound = 5;
constexpr unsigned kUnimplemented = 12;

bool isGrpc(std::string_view contentType) noexcept {
  constexpr std::string_view kType = "application/grpc";
  if (!sameName(contentType.substr(0, kType.size()), kType)) return false;
  const std::string_view rest = contentType.substr(kType.size());
  return rest.empty() || rest[0] == '+' || rest[0] == ';';
}

}  // namespace

GrpcDialogue::GrpcDialogue(const GrpcRequest& request)
    : service_(request.service),
      stream_({{{":method", "POST"},
                {":scheme", request.tls ? "https" : "http"},
                {":authority", request.authority},
                {":path", "/grpc.health.v1.Health/Check"},
                {"te", "trailers"},
                {"content-type", "application/grpc"},
                {"user-agent", "weir-health-check"}},
               grpcFrame(healthCheckRequest(request.service))},
              *this) {}

void GrpcDialogue::field(std::string_view name, std::string_view value) {
  std::string* const kept = name == "content-type"       ? &contentType_
                            : name == "grpc-status"      ? &grpcStatus_
                            : name == "grpc-message"     ? &grpcMessage_
                            : name == kLoadMetricsHeader ? &metrics_
                                                         : nullptr;
  if (kept == nullptr) return;
  // A repeated one counts as a list, as HTTP has it: two statuses are none.
  if (!kept->empty()) kept->append(", ");
  kept->append(value);
}

void GrpcDialogue::headersEnd(int status) {
  if (status != 200)
    verdict_ = wrongStatus(status);
  else if (!isGrpc(contentType_))
    verdict_ = answeredWrongly(
        contentType_.empty()
            ? std::string("the answer has no content type, expected application/grpc")
            : fmt::format("content type '{}', expected application/grpc", quotable(contentType_)));
}

void GrpcDialogue::data(std::string_view part) {
  if (verdict_) return;
  message_.append(part.substr(0, kLongestMessage + 1 - message_.size()));
  if (message_.size() > kLongestMessage)
    verdict_ =
        answeredWrongly(fmt::format("a gRPC message of more than {} bytes", kLongestMessage));
}

std::optional<Outcome> GrpcDialogue::receive(std::string_view bytes) {
  std::string failure = stream_.receive(bytes);
  if (verdict_) return verdict_;
  if (stream_.isComplete()) return withLoad(judge());
  if (!failure.empty()) return answeredWrongly(std::move(failure));
  return std::nullopt;
}

Outcome GrpcDialogue::withLoad(Outcome outcome) const {
  outcome.utilization = parseUtilization(metrics_);
  return outcome;
}

Outcome GrpcDialogue::judge() const {
  if (grpcStatus_ != "0") return judgeStatus();
  const auto status = servingStatus(message_);
  if (!status.ok()) return answeredWrongly(status.error().message);
  constexpr std::uint64_t kServing = 1;
  if (*status == kServing) return succeeded();
  return answeredWrongly(
      service_.empty() ? fmt::format("the server is {}", servingStatusName(*status))
                       : fmt::format("service '{}' is {}", service_, servingStatusName(*status)));
}

Outcome GrpcDialogue::judgeStatus() const {
  if (grpcStatus_.empty()) return answeredWrongly("the answer has no grpc-status");
  unsigned status = 0;
  const char* const end = grpcStatus_.data() + grpcStatus_.size();
  if (const auto parsed = std::from_chars(grpcStatus_.data(), end, status);
      parsed.ec != std::errc{} || parsed.ptr != end)
    return answeredWrongly(fmt::format("malformed grpc-status '{}'", quotable(grpcStatus_)));
  std::string reason = fmt::format("gRPC status {}", grpcStatusName(status));
  if (status == kNotFound)
    reason += fmt::format(": the server does not know service '{}'", service_);
  else if (status == kUnimplemented)
    reason += ": the server does not have grpc.health.v1.Health";
  else if (!grpcMessage_.empty())
    reason += fmt::format(": {}", quotable(grpcMessage_));
  return answeredWrongly(std::move(reason));
}

Outcome GrpcDialogue::ended(End end) {
  return answeredWrongly(fmt::format("{} without a complete answer", toString(end)));
}

}  // namespace weir::manager
