// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <map>

#include "cli/commands.h"
#include "cli/simulate/simulate.h"
#include "config/check.h"

namespace weir::cli {

namespace {

// The command that was chosen, to be run once everything is parsed.
using Chosen = std::function<int()>;

class CommandLine {
 public:
  CommandLine(std::ostream& out, std::ostream& err) : context_{.out = out, .err = err} {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "weirctl " WEIR_VERSION);
    app_.add_option("--run-dir", context_.runDir, "directory of the manager's socket")
        ->capture_default_str();
    static const std::map<std::string, Format> kFormats{
        {"table", Format::table}, {"json", Format::json}, {"yaml", Format::yaml}};
    app_.add_option("--format", context_.format, "table, json or yaml")
        ->transform(CLI::CheckedTransformer(kFormats))
        ->default_str("table");
    app_.fallthrough();  // --format and --run-dir also behind a command
    addConfiguration();
    addServices();
    addConnections();
    addExplain();
    addDraining();
    addSimulate();
  }

  int run(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
      const int code = app_.exit(error, context_.out, context_.err);
      return code == 0 ? 0 : static_cast<int>(Exit::usage);
    }
    return chosen_();
  }

 private:
  template <class Command>
  void command(CLI::App* app, Command execute) {
    app->callback([this, execute] { chosen_ = [execute] { return static_cast<int>(execute()); }; });
  }

  void addConfiguration() {
    auto* check = app_.add_subcommand("check", "Validate a configuration without applying it");
    check->add_option("PATH", path_, "directory or file")->capture_default_str();
    command(check, [this] { return config::runCheck(path_, context_.out, context_.err); });
    auto* reloadCommand = app_.add_subcommand("reload", "Make the manager read its configuration");
    command(reloadCommand, [this] { return reload(context_); });
    auto* status = app_.add_subcommand("status", "Programs, services, connections on one screen");
    command(status, [this] { return showStatus(context_); });
  }

  void addServices() {
    auto* services = app_.add_subcommand("backend-services", "Backend services and their backends");
    services->require_subcommand(1)->fallthrough();
    command(services->add_subcommand("list", "All backend services"),
            [this] { return listServices(context_); });
    auto* describe =
        services->add_subcommand("describe", "One service with everything known of it");
    describe->add_option("NAME", service_, "backend service")->required();
    command(describe, [this] { return describeService(context_, service_); });
    auto* health = services->add_subcommand("get-health", "The backends of a service");
    health->add_option("NAME", service_, "backend service")->required();
    command(health, [this] { return getHealth(context_, service_); });
  }

  void addConnections() {
    auto* connections = app_.add_subcommand("connections", "Entries of the tracking table");
    connections->require_subcommand(1)->fallthrough();
    const auto add = [&](const char* name, const char* help, auto execute) {
      auto* subcommand = connections->add_subcommand(name, help);
      // An unset variable in a script must not become "all connections".
      const CLI::Validator notEmpty(
          [](const std::string& text) {
            return text.empty() ? std::string("must not be empty; leave it out to mean all")
                                : std::string();
          },
          "");
      const auto option = [&](const char* of, std::string& value, const char* what) {
        subcommand->add_option(of, value, what)->check(notEmpty);
      };
      option("--service", filter_.service, "of this backend service");
      option("--client", filter_.client, "of this client address or range");
      option("--backend", filter_.backend, "to this backend");
      command(subcommand, [this, execute] { return execute(context_, filter_); });
      return subcommand;
    };
    add("list", "Show entries", listConnections)
        ->add_option("--limit", filter_.limit, "show at most so many")
        ->check(CLI::Range(1u, 100000u));
    add("count", "Count entries", countConnections);
    add("flush", "Remove entries; their next packets are new connections", flushConnections);
  }

  void addExplain() {
    auto* app = app_.add_subcommand("explain", "What would happen to a packet, and why");
    app->add_option("--src", packet_.source, "source address")->required();
    app->add_option("--dst", packet_.destination, "destination address")->required();
    app->add_option("--proto", packet_.protocol, "TCP, UDP, ICMP, ... or a number")
        ->capture_default_str();
    app->add_option("--sport", packet_.sourcePort, "source port");
    app->add_option("--dport", packet_.destinationPort, "destination port");
    app->add_option("--flags", packet_.flags, "TCP flags: SYN,ACK,...")->delimiter(',');
    command(app, [this] { return explain(context_, packet_); });
  }

  void addDraining() {
    auto* drainCommand =
        app_.add_subcommand("drain", "No new connections to a backend from now on");
    drainCommand->add_option("SERVICE", service_, "backend service")->required();
    drainCommand->add_option("ENDPOINT", endpoint_, "backend")->required();
    drainCommand->add_option("--timeout", timeoutSec_, "seconds until its connections go elsewhere")
        ->check(CLI::Range(0u, 3600u));
    command(drainCommand, [this] { return drain(context_, service_, endpoint_, timeoutSec_); });
    auto* undrainCommand = app_.add_subcommand("undrain", "The backend serves again");
    undrainCommand->add_option("SERVICE", service_, "backend service")->required();
    undrainCommand->add_option("ENDPOINT", endpoint_, "backend")->required();
    command(undrainCommand, [this] { return undrain(context_, service_, endpoint_); });
  }

  void addSimulate() {
    auto* simulate =
        app_.add_subcommand("simulate", "Run a scenario through the real decisions, offline");
    simulate->add_flag("--check", onlyCheck_, "compare with what the scenario expects");
    simulate->add_option("FILE", files_, "scenario files")->required();
    command(simulate,
            [this] { return runSimulate(files_, onlyCheck_, context_.out, context_.err); });
  }

  CLI::App app_{"weirctl - look at and operate weir"};
  Context context_;
  Chosen chosen_;
  std::filesystem::path path_ = "/etc/weir";
  std::string service_, endpoint_;
  std::optional<unsigned> timeoutSec_;
  FlowFilter filter_;
  ExplainPacket packet_;
  bool onlyCheck_ = false;
  std::vector<std::string> files_;
};

}  // namespace

int run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  return CommandLine(out, err).run(std::move(arguments));
}

}  // namespace weir::cli
