// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/health/dialogue.h"
#include "manager/health/http2_stream.h"

namespace weir::manager {

struct GrpcRequest {
  std::string authority;
  std::string service;  // may be empty: the server as a whole
  bool tls = false;
};

// H6: a call of grpc.health.v1.Health/Check, answered with status OK and SERVING. The server is not
// told of a deadline: it would answer DEADLINE_EXCEEDED in the moment in which the probe times out,
// and now this state, now the other would be first.
class GrpcDialogue : public Dialogue, private Http2Stream::Listener {
 public:
  // A HealthCheckResponse has 2 bytes; fields of later versions have room too.
  static constexpr std::size_t kLongestMessage = 1024;

  explicit GrpcDialogue(const GrpcRequest&);

  std::string takeOutput() override { return stream_.takeOutput(); }
  std::optional<Outcome> receive(std::string_view) override;
  Outcome ended(End) override;

 private:
  void field(std::string_view name, std::string_view value) override;
  void headersEnd(int status) override;
  void data(std::string_view) override;
  Outcome judge() const;
  Outcome judgeStatus() const;
  Outcome withLoad(Outcome) const;

  const std::string service_;
  std::string contentType_, grpcStatus_, grpcMessage_, metrics_, message_;
  std::optional<Outcome> verdict_;
  Http2Stream stream_;
};

}  // namespace weir::manager
