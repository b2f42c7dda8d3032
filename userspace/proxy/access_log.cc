// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/access_log.h"

#include <fmt/format.h>

#include <random>
#include <vector>

#include "base/log.h"

namespace weir::proxy {

namespace {

std::string textOf(const SocketAddress& address) {
  const std::string text = address.address.toString();
  return address.address.isIpv4() ? fmt::format("{}:{}", text, address.port)
                                  : fmt::format("[{}]:{}", text, address.port);
}

std::string timeAgo(std::chrono::milliseconds ago) {
  return log::timestamp(std::chrono::system_clock::now() - ago);
}

}  // namespace

void logConnection(const AccessRecord& record, const AccessEnd& end) {
  std::vector<log::Field> fields{
      {"CLIENT", textOf(end.connection.client)},
      {"SERVER", textOf(end.connection.server)},
      {"RULE", record.rule},
  };
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) fields.emplace_back(key, value);
  };
  add("SERVICE", record.service);
  add("GROUP", record.group);
  add("BACKEND", record.endpoint);
  add("DECIDED_BY", std::string(record.decidedBy));
  add("ROUTE", record.tlsRoute);
  add("SNI", record.serverName);
  fields.emplace_back("START", timeAgo(end.duration));
  fields.emplace_back("END", timeAgo(std::chrono::milliseconds(0)));
  fields.emplace_back("BYTES_UP", std::to_string(end.bytesUp));
  fields.emplace_back("BYTES_DOWN", std::to_string(end.bytesDown));
  add("REASON", std::string(toString(end.reason)));
  add("DETAIL", std::string(end.detail));
  log::record("connection", fields);
}

bool isSampled(const ProxyServiceSnapshot& service) {
  if (!service.logEnable) return false;
  if (service.logSampleRate >= 1) return true;
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_real_distribution<>()(random) < service.logSampleRate;
}

}  // namespace weir::proxy
