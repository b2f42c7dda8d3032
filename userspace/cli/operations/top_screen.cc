// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "cli/group_table.h"
#include "cli/operations/status.h"
#include "cli/operations/top.h"
#include "cli/table.h"
#include "cli/words.h"

namespace weir::cli {

namespace {

// The element of a list whose members have these values; nullptr: there is none.
const Json* findIn(const Json& list,
                   const std::vector<std::pair<const char*, std::string>>& wanted) {
  for (const Json& item : list) {
    bool fits = true;
    for (const auto& [key, value] : wanted) fits = fits && item.value(key, "") == value;
    if (fits) return &item;
  }
  return nullptr;
}

const Json& engineServices(const Json& status) {
  static const Json kNone = Json::array();
  const auto at = "/engine/services"_json_pointer;
  return status.contains(at) ? status.at(at) : kNone;
}

// Per second; nullopt: unknown.
using Rate = std::optional<double>;

std::string shown(Rate rate) {
  if (!rate) return "";
  const std::string text = fmt::format("{:.1f}", *rate);
  return *rate < 10 && !text.ends_with(".0") ? text : fmt::format("{:.0f}", *rate);
}

class Rates {
 public:
  Rates(const Moment* before, const Moment& now)
      : seconds_(before == nullptr ? 0 : (now.at - before->at).count()) {}
  // A counter that fell was begun anew: its rate is not known.
  Rate of(const Json* before, const Json* now, std::initializer_list<const char*> pointers) const {
    if (before == nullptr || now == nullptr || seconds_ <= 0) return std::nullopt;
    std::uint64_t old = 0;
    std::uint64_t fresh = 0;
    for (const char* pointer : pointers) {
      old += numberAt(*before, pointer);
      fresh += numberAt(*now, pointer);
    }
    if (fresh < old) return std::nullopt;
    return static_cast<double>(fresh - old) / seconds_;
  }

 private:
  double seconds_;
};

struct Screen {
  const Moment* before;
  const Moment& now;
  Rates rates;

  const Json* then(const Json* service) const {
    return before == nullptr || service == nullptr
               ? nullptr
               : findIn(engineServices(before->status),
                        {{"service", service->value("service", "")}});
  }
};

void printTotals(const Screen& screen, const Context& context) {
  const auto at = "/engine"_json_pointer;
  const Json* engine = screen.now.status.contains(at) ? &screen.now.status.at(at) : nullptr;
  if (engine == nullptr || !engine->is_object()) {
    context.out() << "No counters: "
                  << screen.now.status.value("engineError", "the engine did not answer") << "\n\n";
    return;
  }
  const Json* old = screen.before != nullptr && screen.before->status.contains(at)
                        ? &screen.before->status.at(at)
                        : nullptr;
  const auto rate = [&](std::initializer_list<const char*> pointers) {
    const std::string text = shown(screen.rates.of(old, engine, pointers));
    return text.empty() ? std::string("-") : text;
  };
  context.out() << fmt::format(
      "Connections {} of {}   new/s {}   packets/s {}   drops: {}\n\n",
      numberAt(*engine, "/table/entries"), numberAt(*engine, "/table/capacity"),
      rate({"/totals/forwarded/new"}), rate({"/totals/packets"}), dropsOf(*engine));
}

// The proxy, where there is one to ask.
void printProxyTotals(const Screen& screen, const Context& context) {
  const Json& status = screen.now.status;
  if (const std::string error = status.value("proxyError", ""); !error.empty())
    context.out() << "No loads of groups: " << error << "\n\n";
  const auto proxy = status.find("proxy");
  if (proxy == status.end() || !proxy->is_object()) return;
  const Json* old = screen.before != nullptr && screen.before->status.contains("proxy")
                        ? &screen.before->status.at("proxy")
                        : nullptr;
  const auto rate = [&](std::initializer_list<const char*> pointers) {
    const std::string text = shown(screen.rates.of(old, &*proxy, pointers));
    return text.empty() ? std::string("-") : text;
  };
  context.out() << fmt::format(
      "Proxy connections {}   new/s {}   bytes/s {}   backends that did not answer {}\n\n",
      numberAt(*proxy, "/totals/open"), rate({"/totals/accepted"}),
      rate({"/totals/bytesUp", "/totals/bytesDown"}), numberAt(*proxy, "/totals/connectFailures"));
}

void printServices(const Screen& screen, const std::string& only, const Context& context) {
  Table table({"SERVICE", "HEALTHY", "ELIGIBLE", "RULE", "NEW", "NEW/S", "PACKETS/S", "DROPS/S"});
  for (const Json& service : screen.now.status.value("services", Json::array())) {
    const std::string name = service.value("name", "");
    if (!only.empty() && name != only) continue;
    const Json* counters = findIn(engineServices(screen.now.status), {{"service", name}});
    const Json* old = screen.then(counters);
    table.add({name, fmt::format("{}/{}", service.value("healthy", 0u), service.value("total", 0u)),
               std::to_string(service.value("eligible", 0u)), service.value("rule", ""),
               counters == nullptr ? "" : std::to_string(counters->value("new", 0ull)),
               shown(screen.rates.of(old, counters, {"/new"})),
               shown(screen.rates.of(old, counters, {"/new", "/known", "/related"})),
               shown(screen.rates.of(old, counters, {"/dropped"}))});
  }
  if (table.empty())
    context.out() << (only.empty() ? "No backend service is configured.\n"
                                   : "There is no backend service " + only + ".\n");
  else
    table.print(context.out(), context.terminal.color);
}

// The share of a backend in what its service forwards now: of new connections, or of packets where
// there are no new ones.
void printBackends(const Screen& screen, const std::string& only, const Context& context) {
  Table table({"SERVICE", "BACKEND", "GROUP", "NEW/S", "PACKETS/S", "SHARE"});
  for (const Json& service : engineServices(screen.now.status)) {
    const std::string name = service.value("service", "");
    if (!only.empty() && name != only) continue;
    const Json* oldService = screen.then(&service);
    const Json oldList =
        oldService == nullptr ? Json::array() : oldService->value("backends", Json::array());
    struct Row {
      const Json* backend;
      Rate fresh, packets;
    };
    const Json list = service.value("backends", Json::array());
    std::vector<Row> rows;
    double fresh = 0;
    double packets = 0;
    for (const Json& backend : list) {
      const Json* old = findIn(oldList, {{"group", backend.value("group", "")},
                                         {"backend", backend.value("backend", "")}});
      rows.push_back({&backend, screen.rates.of(old, &backend, {"/new"}),
                      screen.rates.of(old, &backend, {"/packets"})});
      fresh += rows.back().fresh.value_or(0);
      packets += rows.back().packets.value_or(0);
    }
    for (const Row& row : rows) {
      const double whole = fresh > 0 ? fresh : packets;
      const Rate part = fresh > 0 ? row.fresh : row.packets;
      table.add({name, row.backend->value("backend", ""), row.backend->value("group", ""),
                 shown(row.fresh), shown(row.packets),
                 part && whole > 0 ? fmt::format("{:.1f}%", *part / whole * 100) : ""});
    }
  }
  if (table.empty()) return;
  context.out() << '\n';
  table.print(context.out(), context.terminal.color);
}

// S6: where the load of proxied services goes, and why. SHARE: of the service's open connections.
void printGroups(const Screen& screen, const std::string& only, const Context& context) {
  std::vector<std::string> header = groupHeader();
  header.insert(header.begin(), {"SERVICE", "SHARE"});
  Table table(std::move(header));
  for (const Json& service : screen.now.status.value("services", Json::array())) {
    const std::string name = service.value("name", "");
    const Json groups = service.value("groups", Json::array());
    if (!only.empty() && name != only) continue;
    double open = 0;
    for (const Json& group : groups) open += group.value("connections", 0.0);
    for (const Json& group : groups) {
      std::vector<std::string> row = groupCells(group);
      row.insert(
          row.begin(),
          {name,
           open > 0 ? fmt::format("{:.1f}%", group.value("connections", 0.0) / open * 100) : ""});
      table.add(std::move(row));
    }
  }
  if (table.empty()) return;
  context.out() << '\n';
  table.print(context.out(), context.terminal.color);
}

// The first `rows` lines; the last of them says how much is missing.
std::string cut(const std::string& text, std::size_t rows) {
  if (rows < 2) return text;
  std::size_t lines = 0;
  std::size_t keep = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') continue;
    if (++lines == rows - 1) keep = i + 1;
  }
  if (lines <= rows) return text;
  return text.substr(0, keep) +
         fmt::format("... {} more lines; --service NAME shows one service\n", lines - (rows - 1));
}

}  // namespace

std::string topScreen(const Moment* before, const Moment& now, const std::string& service,
                      std::size_t rows, const Context& context) {
  std::ostringstream text;
  const Terminal terminal{.in = context.terminal.in,
                          .out = text,
                          .err = context.terminal.err,
                          .color = context.terminal.color};
  const Context into{.terminal = terminal};
  const Screen screen{before, now, Rates(before, now)};
  printPrograms(now.status, into);
  text << '\n';
  printTotals(screen, into);
  printProxyTotals(screen, into);
  printServices(screen, service, into);
  printBackends(screen, service, into);
  printGroups(screen, service, into);
  return cut(text.str(), rows);
}

}  // namespace weir::cli
