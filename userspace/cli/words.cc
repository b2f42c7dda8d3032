// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/words.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weir::cli {

std::string duration(std::uint64_t seconds) {
  if (seconds < 60) return fmt::format("{} s", seconds);
  const std::uint64_t minutes = seconds / 60;
  if (minutes < 10 && seconds % 60 != 0) return fmt::format("{} min {} s", minutes, seconds % 60);
  if (minutes < 60) return fmt::format("{} min", minutes);
  const std::uint64_t hours = minutes / 60;
  if (hours < 24) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string protocolOf(const Json& flow) {
  const auto found = flow.find("protocol");
  if (found == flow.end() || !found->is_number_unsigned()) return "*";
  switch (found->get<unsigned>()) {
    case 1:
      return "ICMP";
    case 6:
      return "TCP";
    case 17:
      return "UDP";
    case 47:
      return "GRE";
    case 50:
      return "ESP";
    case 51:
      return "AH";
    case 58:
      return "ICMPv6";
    case 132:
      return "SCTP";
    default:  // any protocol number
      return found->dump();
  }
}

std::string withPort(const std::string& address, unsigned port) {
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

std::string sideOf(const Json& flow, const char* address, const char* port) {
  if (!flow.contains(address)) return "*";
  const std::string text = flow.value(address, "");
  return flow.contains(port) ? withPort(text, flow.value(port, 0u)) : text;
}

std::uint64_t numberAt(const Json& object, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_number()) return 0;
  return object.at(at).get<std::uint64_t>();
}

}  // namespace weir::cli
