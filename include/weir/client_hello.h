// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reads the server name and the application protocols from the start of a TLS connection (X6), as
// the bytes come: any number of segments, any number of records. Nothing is decrypted and no byte
// is kept but the name and the protocols, so the memory of a connection that has not decided yet
// does not depend on how large its hello is.
//
// RFC 8446 sections 4.1.2, 4.2, 5.1 (TLS 1.3), RFC 5246 (TLS 1.2; the same message), RFC 6066
// section 3 (server_name), RFC 7301 (ALPN). Lengths must agree on every level; everything else in
// the hello (GREASE, key shares of any size, encrypted hello) is passed over. Where a client says
// the same thing twice, or a thing with two readings, it is refused: a backend might read the
// other one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// Why a connection cannot be routed by its hello.
enum class HelloProblem : std::uint8_t {
  none,
  notTls,        // the first bytes are no TLS handshake record with a ClientHello
  tooLarge,      // a hello of more than ClientHelloParser::kMaxHello bytes
  malformed,     // lengths that do not agree, records that must not be
  noServerName,  // no server_name extension
  badServerName  // one that RFC 6066 forbids, or whose name is no DNS name (X6.2)
};
// The detail in the access log (X7.2): "client_hello_not_detected", ...
std::string_view toString(HelloProblem) noexcept;

class ClientHelloParser {
 public:
  static constexpr std::size_t kMaxHello = 65'536;  // of the message, without record headers

  enum class Progress : std::uint8_t { needsMore, complete, refused };

  // The next bytes of the connection. What comes after the hello is not looked at, and neither is
  // anything after complete or refused.
  Progress feed(std::span<const std::uint8_t> bytes);
  Progress progress() const noexcept { return progress_; }
  // When refused; `malformed` also stands for a connection that ended before its hello.
  HelloProblem problem() const noexcept { return problem_; }

  // When complete. The name is in lower case, without a trailing dot.
  const std::string& serverName() const noexcept { return serverName_; }
  const std::vector<std::string>& protocols() const noexcept { return protocols_; }

 private:
  // The fields of the message in their order; Length steps read a number, the others pass over
  // bytes.
  enum class Step : std::uint8_t {
    messageType,
    messageLength,
    versionAndRandom,
    sessionIdLength,
    sessionId,
    cipherSuitesLength,
    cipherSuites,
    compressionLength,
    compression,
    extensionsLength,
    extensionType,
    extensionLength,
    extension,
  };

  void refuse(HelloProblem) noexcept;
  void takeRecordHeader(std::uint8_t byte);
  void takeMessage(std::span<const std::uint8_t> bytes);
  std::size_t takeField(std::span<const std::uint8_t> bytes);
  void fieldEnds();
  void passOver(Step, std::size_t bytes);
  void readNumber(Step, unsigned bytes);
  void readExtensions();
  void extensionBegins(std::size_t length);
  void extensionEnds();
  void messageEnds();
  void readServerName();
  void readProtocols();

  Progress progress_ = Progress::needsMore;
  HelloProblem problem_ = HelloProblem::none;
  bool seenServerName_ = false;
  bool seenProtocols_ = false;

  std::uint8_t headerBytes_ = 0;  // of the record header being read
  std::uint16_t recordLeft_ = 0;  // of the record's length while its header is read
  std::size_t messageLeft_ = 4;   // bytes of the message still to come
  Step step_ = Step::messageType;
  std::size_t fieldLeft_ = 1;  // bytes of this field still to come
  std::uint32_t number_ = 0;   // the field's value so far, where it is a number
  std::uint16_t extensionType_ = 0;
  bool collecting_ = false;
  std::string body_;  // of the extension that is being collected
  std::string serverName_;
  std::vector<std::string> protocols_;
};

}  // namespace weir
