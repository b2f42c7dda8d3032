// SPDX-License-Identifier: GPL-2.0-or-later
//
// Any bytes as the answer to a health check, in one piece and in pieces: the verdict must be the
// same, and no dialogue may keep on wanting more once it has one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "manager/health/grpc_dialogue.h"
#include "manager/health/http2_dialogue.h"
#include "manager/health/http_dialogue.h"
#include "manager/health/load_metrics.h"
#include "manager/health/text_dialogue.h"

namespace {

using namespace weir::manager;

std::unique_ptr<Dialogue> make(unsigned kind) {
  switch (kind % 6) {
    case 0:
      return std::make_unique<TextDialogue>("PING", "PONG");
    case 1:
      return std::make_unique<HttpDialogue>(HttpRequest{"/", "h", ""});
    case 2:
      return std::make_unique<HttpDialogue>(HttpRequest{"/", "h", "good"});
    case 3:
      return std::make_unique<Http2Dialogue>(HttpRequest{"/", "h", ""});
    case 4:
      return std::make_unique<Http2Dialogue>(HttpRequest{"/", "h", "good"});
    default:  // a number
      return std::make_unique<GrpcDialogue>(GrpcRequest{"h:1", "shop", false});
  }
}

Outcome verdictOf(unsigned kind, std::string_view answer, std::size_t piece) {
  const auto dialogue = make(kind);
  dialogue->takeOutput();
  for (; !answer.empty(); answer.remove_prefix(std::min(piece, answer.size()))) {
    if (auto verdict = dialogue->receive(answer.substr(0, piece))) return *verdict;
    dialogue->takeOutput();
  }
  return dialogue->ended(Dialogue::End::closed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string answer(reinterpret_cast<const char*>(data + 2), size - 2);
  (void)parseUtilization(answer);
  // Most bytes are no SETTINGS frame, without which HTTP/2 does not begin.
  if ((data[0] & 0x80) != 0) answer.insert(0, std::string("\0\0\0\4\0\0\0\0\0", 9));
  const Outcome whole = verdictOf(data[0] & 0x7f, answer, answer.size());
  const Outcome pieces = verdictOf(data[0] & 0x7f, answer, 1u + data[1]);
  if (whole.kind != pieces.kind || whole.utilization != pieces.utilization) std::abort();
  if ((whole.kind == Outcome::Kind::success) != whole.reason.empty()) std::abort();
  if (std::any_of(whole.reason.begin(), whole.reason.end(), [](char c) { return c < ' '; }))
    std::abort();
  return 0;
}
