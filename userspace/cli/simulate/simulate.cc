// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/simulate.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>
#include <set>

#include "cli/simulate/scenario.h"
#include "cli/simulate/simulation.h"

namespace weir::cli {
namespace {

// Files are read and lines written in pieces of about this size.
constexpr std::size_t kPieceBytes = 1u << 16;

std::optional<config::Source> readFile(const std::string& name, std::ostream& err) {
  errno = 0;
  std::ifstream stream(name, std::ios::binary);
  config::Source source{name, {}};
  std::string piece(kPieceBytes, '\0');
  while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())), stream.gcount() > 0)
    source.text.append(piece, 0, static_cast<std::size_t>(stream.gcount()));
  if (!stream.eof()) {
    err << name << ": cannot be read: " << std::strerror(errno != 0 ? errno : EIO) << '\n';
    return std::nullopt;
  }
  return source;
}

bool report(const std::vector<config::Diagnostic>& diagnostics, std::ostream& err) {
  for (const config::Diagnostic& diagnostic : diagnostics) err << diagnostic.toString() << '\n';
  return !diagnostics.empty();
}

// A scenario that is valid from its first event to its last.
std::optional<Scenario> readValid(const std::string& file, std::ostream& err) {
  auto source = readFile(file, err);
  if (!source) return std::nullopt;
  ReadScenario read = readScenario(std::move(*source));
  if (report(read.diagnostics, err) || !read.scenario) return std::nullopt;
  config::Problems problems;
  checkEvents(read.scenario->configuration, *read.scenario->text, read.scenario->events, problems);
  if (report(problems.take(), err)) return std::nullopt;
  return std::move(read.scenario);
}

// Runs a scenario and hands each line to `take`. False: the control plane refused an event.
template <class Take>
bool runAll(const Scenario& scenario, std::ostream& err, Take take) {
  const auto refuse = [&](config::Mark place, const Error& error) {
    config::Problems problems;
    problems.error({scenario.text.get(), place}, error.message);
    report(problems.take(), err);
    return false;
  };
  Simulation simulation(scenario);
  if (const Status begun = simulation.begin(); !begun) return refuse({}, begun.error());
  for (std::size_t i = 0; i < scenario.events.size(); ++i) {
    auto line = simulation.step(i);
    if (!line) return refuse(scenario.events[i].place, line.error());
    if (*line) take(std::move(**line));
  }
  return true;
}

bool print(const Scenario& scenario, std::ostream& out, std::ostream& err) {
  std::string piece;
  const bool done = runAll(scenario, err, [&](const Line& line) {
    appendJson(line, piece);
    if (piece.size() < kPieceBytes) return;
    out << piece;
    piece.clear();
  });
  out << piece;
  return done;
}

bool compare(const Scenario& scenario, std::ostream& out, std::ostream& err) {
  std::set<std::size_t> mentioned;
  for (const Expectation& expectation : scenario.expectations) {
    mentioned.insert(expectation.event);
    if (expectation.sameAs) mentioned.insert(*expectation.sameAs);
    if (expectation.differsFrom) mentioned.insert(*expectation.differsFrom);
  }
  Lines lines;
  const bool done = runAll(scenario, err, [&](Line line) {
    if (mentioned.contains(line.event)) lines.emplace(line.event, std::move(line));
  });
  if (!done) return false;

  bool same = true;
  for (const Expectation& expectation : scenario.expectations) {
    for (const std::string& difference : differences(expectation, lines)) {
      out << fmt::format("{}:{}:{}: event {}: {}\n", scenario.text->name(),
                         scenario.text->lineOf(expectation.place),
                         scenario.text->columnOf(expectation.place), expectation.event, difference);
      same = false;
    }
  }
  return same;
}

}  // namespace

int runSimulate(std::span<const std::string> files, bool check, std::ostream& out,
                std::ostream& err) {
  bool good = true;
  for (const std::string& file : files) {
    const auto scenario = readValid(file, err);
    const bool done =
        scenario && (check ? compare(*scenario, out, err) : print(*scenario, out, err));
    good = good && done;
  }
  return good ? 0 : 1;
}

}  // namespace weir::cli
