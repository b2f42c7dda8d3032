// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/output.h"

namespace weir::cli {

struct Context {
  std::filesystem::path runDir = "/run/weir";
  Format format = Format::table;
  std::ostream& out;
  std::ostream& err;
};

// One function per command of C2 that talks to the manager.
Exit showStatus(const Context&);
Exit reload(const Context&);
Exit listServices(const Context&);
Exit describeService(const Context&, const std::string& name);
Exit getHealth(const Context&, const std::string& name);

struct FlowFilter {
  std::string service, client, backend;  // empty: any
  std::optional<unsigned> limit;
};
Exit listConnections(const Context&, const FlowFilter&);
Exit countConnections(const Context&, const FlowFilter&);
Exit flushConnections(const Context&, const FlowFilter&);

struct ExplainPacket {
  std::string source, destination, protocol = "TCP";
  std::optional<std::uint16_t> sourcePort, destinationPort;
  std::vector<std::string> flags;
};
Exit explain(const Context&, const ExplainPacket&);

Exit drain(const Context&, const std::string& service, const std::string& endpoint,
           std::optional<unsigned> timeoutSec);
Exit undrain(const Context&, const std::string& service, const std::string& endpoint);

}  // namespace weir::cli
