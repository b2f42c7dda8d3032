// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/client_hello.h"

#include <algorithm>
#include <optional>

#include "weir/dns_name.h"

namespace weir {

namespace {

constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kMajorVersion = 3;
constexpr std::uint16_t kMaxRecord = 16'384;  // RFC 8446 5.1
constexpr std::uint8_t kClientHello = 1;
constexpr std::uint8_t kHostName = 0;
constexpr std::uint16_t kServerNameExtension = 0;
constexpr std::uint16_t kProtocolsExtension = 16;
constexpr std::size_t kMaxSessionId = 32;
constexpr std::size_t kVersionAndRandom = 2 + 32;

// Reads the parts of an extension; every read fails at the end of the bytes.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  bool atEnd() const noexcept { return bytes_.empty(); }
  std::optional<unsigned> number(std::size_t size) noexcept {
    if (bytes_.size() < size) return std::nullopt;
    unsigned value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes_[i]);
    bytes_.remove_prefix(size);
    return value;
  }
  // Bytes that are preceded by their length, a number of `lengthSize` bytes.
  std::optional<std::string_view> counted(std::size_t lengthSize) noexcept {
    const auto length = number(lengthSize);
    if (!length || *length > bytes_.size()) return std::nullopt;
    const std::string_view found = bytes_.substr(0, *length);
    bytes_.remove_prefix(*length);
    return found;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string_view toString(HelloProblem problem) noexcept {
  switch (problem) {
    case HelloProblem::none:
      return "none";
    case HelloProblem::notTls:
      return "client_hello_not_detected";
    case HelloProblem::tooLarge:
      return "client_hello_too_large";
    case HelloProblem::malformed:
      return "client_hello_malformed";
    case HelloProblem::noServerName:
      return "sni_missing";
    case HelloProblem::badServerName:
      return "invalid_sni_rfc_6066";
  }
  return "?";
}

void ClientHelloParser::refuse(HelloProblem problem) noexcept {
  progress_ = Progress::refused;
  problem_ = problem;
}

ClientHelloParser::Progress ClientHelloParser::feed(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty() && progress_ == Progress::needsMore) {
    if (headerBytes_ < 5) {
      takeRecordHeader(bytes.front());
      bytes = bytes.subspan(1);
      continue;
    }
    const std::size_t size = std::min<std::size_t>(recordLeft_, bytes.size());
    recordLeft_ = static_cast<std::uint16_t>(recordLeft_ - size);
    if (recordLeft_ == 0) headerBytes_ = 0;
    takeMessage(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return progress_;
}

// Type, version, length. What is wrong with the very first record is not TLS; later it is bad TLS.
void ClientHelloParser::takeRecordHeader(std::uint8_t byte) {
  const bool isFirst = step_ == Step::messageType;
  const HelloProblem wrong = isFirst ? HelloProblem::notTls : HelloProblem::malformed;
  switch (headerBytes_++) {
    case 0:
      if (byte != kHandshakeRecord) refuse(wrong);
      break;
    case 1:
      if (byte != kMajorVersion) refuse(wrong);
      break;
    case 2:  // the minor version has no meaning here
      break;
    case 3:
      recordLeft_ = static_cast<std::uint16_t>(byte << 8);
      break;
    case 4:
      recordLeft_ = static_cast<std::uint16_t>(recordLeft_ | byte);
      // An empty handshake record is forbidden, and a peer could send them for ever.
      if (recordLeft_ == 0 || recordLeft_ > kMaxRecord) refuse(HelloProblem::malformed);
  }
}

void ClientHelloParser::takeMessage(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty() && progress_ == Progress::needsMore)
    bytes = bytes.subspan(takeField(bytes));
}

std::size_t ClientHelloParser::takeField(std::span<const std::uint8_t> bytes) {
  const std::size_t size = std::min(fieldLeft_, bytes.size());
  const auto part = bytes.first(size);
  if (collecting_)
    body_.append(part.begin(), part.end());
  else if (fieldLeft_ <= 3)  // a number, or so few bytes that it does not matter
    for (const std::uint8_t byte : part) number_ = number_ << 8 | byte;
  fieldLeft_ -= size;
  messageLeft_ -= size;
  while (fieldLeft_ == 0 && progress_ == Progress::needsMore) fieldEnds();
  return size;
}

void ClientHelloParser::passOver(Step step, std::size_t bytes) {
  if (bytes > messageLeft_) return refuse(HelloProblem::malformed);
  step_ = step;
  fieldLeft_ = bytes;
}

void ClientHelloParser::readNumber(Step step, unsigned bytes) {
  passOver(step, bytes);
  number_ = 0;
}

void ClientHelloParser::fieldEnds() {
  switch (step_) {
    case Step::messageType:
      if (number_ != kClientHello) return refuse(HelloProblem::notTls);
      return readNumber(Step::messageLength, 3);
    case Step::messageLength:
      if (number_ > kMaxHello) return refuse(HelloProblem::tooLarge);
      messageLeft_ = number_;
      return passOver(Step::versionAndRandom, kVersionAndRandom);
    case Step::versionAndRandom:
      return readNumber(Step::sessionIdLength, 1);
    case Step::sessionIdLength:
      if (number_ > kMaxSessionId) return refuse(HelloProblem::malformed);
      return passOver(Step::sessionId, number_);
    case Step::sessionId:
      return readNumber(Step::cipherSuitesLength, 2);
    case Step::cipherSuitesLength:
      if (number_ == 0 || number_ % 2 != 0) return refuse(HelloProblem::malformed);
      return passOver(Step::cipherSuites, number_);
    case Step::cipherSuites:
      return readNumber(Step::compressionLength, 1);
    case Step::compressionLength:
      if (number_ == 0) return refuse(HelloProblem::malformed);
      return passOver(Step::compression, number_);
    case Step::compression:
      if (messageLeft_ == 0) return messageEnds();  // TLS 1.2 without extensions
      return readNumber(Step::extensionsLength, 2);
    case Step::extensionsLength:
      if (number_ != messageLeft_) return refuse(HelloProblem::malformed);
      return readExtensions();
    case Step::extensionType:
      extensionType_ = static_cast<std::uint16_t>(number_);
      return readNumber(Step::extensionLength, 2);
    case Step::extensionLength:
      return extensionBegins(number_);
    case Step::extension:
      return extensionEnds();
  }
}

void ClientHelloParser::readExtensions() {
  if (messageLeft_ == 0) return messageEnds();
  readNumber(Step::extensionType, 2);
}

void ClientHelloParser::extensionBegins(std::size_t length) {
  collecting_ = extensionType_ == kServerNameExtension || extensionType_ == kProtocolsExtension;
  body_.clear();
  passOver(Step::extension, length);
}

void ClientHelloParser::extensionEnds() {
  if (collecting_ && extensionType_ == kServerNameExtension) readServerName();
  if (collecting_ && extensionType_ == kProtocolsExtension) readProtocols();
  collecting_ = false;
  if (progress_ == Progress::needsMore) readExtensions();
}

void ClientHelloParser::messageEnds() {
  if (!seenServerName_) return refuse(HelloProblem::noServerName);
  progress_ = Progress::complete;
  body_ = {};
}

// RFC 6066 3: a list of names, at most one of each type; host_name is the only type there is.
void ClientHelloParser::readServerName() {
  if (seenServerName_) return refuse(HelloProblem::badServerName);
  seenServerName_ = true;
  Cursor extension(body_);
  const auto list = extension.counted(2);
  if (!list || !extension.atEnd()) return refuse(HelloProblem::malformed);
  Cursor names(*list);
  const auto type = names.number(1);
  if (!type || *type != kHostName) return refuse(HelloProblem::badServerName);
  const auto name = names.counted(2);
  if (!name) return refuse(HelloProblem::malformed);
  auto normal = normalizeDnsName(*name);
  if (!names.atEnd() || !normal) return refuse(HelloProblem::badServerName);
  serverName_ = std::move(*normal);
}

// RFC 7301 3.1: a list of names of 1 to 255 bytes.
void ClientHelloParser::readProtocols() {
  if (seenProtocols_) return refuse(HelloProblem::malformed);
  seenProtocols_ = true;
  Cursor extension(body_);
  const auto list = extension.counted(2);
  if (!list || list->empty() || !extension.atEnd()) return refuse(HelloProblem::malformed);
  for (Cursor names(*list); !names.atEnd();) {
    const auto name = names.counted(1);
    if (!name || name->empty()) return refuse(HelloProblem::malformed);
    protocols_.emplace_back(*name);
  }
}

}  // namespace weir
