// SPDX-License-Identifier: GPL-2.0-or-later
//
// Small configurations, and a way to write down where a message is expected.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/load.h"

namespace weir::config::test {

// Valid resources to put a wrong one beside.
inline const std::string kCheck = "healthChecks: [{name: hc}]\n";
inline const std::string kGroup =
    "networkEndpointGroups: [{name: g, zone: za, endpoints: [{ipAddress: 10.2.0.1}]}]\n";
inline const std::string kService =
    "backendServices: [{name: s, healthChecks: [hc], backends: [{group: g}]}]\n";
inline const std::string kRule =
    "forwardingRules: [{name: r, IPAddress: 10.9.9.9, ports: [80], backendService: s}]\n";
inline const std::string kAll = kCheck + kGroup + kService + kRule;

inline Loaded loadText(const std::string& text) { return load({"weir.yaml", text}, {}); }

// A text in which '@' stands before the place of the expected message.
struct Marked {
  std::string text;
  unsigned line = 0;
  unsigned column = 0;
};

inline Marked unmark(const std::string& marked) {
  Marked out;
  unsigned line = 1, column = 1;
  for (const char c : marked) {
    if (c == '@') {
      out.line = line;
      out.column = column;
      continue;
    }
    out.text += c;
    if (c == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++column;
    }
  }
  return out;
}

inline std::string all(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const auto& d : diagnostics) out += d.toString() + "\n";
  return out;
}

inline std::vector<Diagnostic> only(const Loaded& loaded, Diagnostic::Severity severity) {
  std::vector<Diagnostic> out;
  for (const auto& d : loaded.diagnostics)
    if (d.severity == severity) out.push_back(d);
  return out;
}
inline std::vector<Diagnostic> errors(const Loaded& loaded) {
  return only(loaded, Diagnostic::Severity::error);
}

// A wrong text with exactly one error, at '@', whose message contains `fragment`.
struct WrongCase {
  std::string name;
  std::string text;
  std::string fragment;
};
inline void PrintTo(const WrongCase& c, std::ostream* out) { *out << c.text; }

inline void expectOneError(const WrongCase& c) {
  const Marked marked = unmark(c.text);
  ASSERT_NE(marked.line, 0u) << "the case names no place";
  const Loaded loaded = loadText(marked.text);
  const auto found = errors(loaded);
  ASSERT_EQ(found.size(), 1u) << all(found);
  EXPECT_EQ(found[0].line, marked.line) << found[0].toString();
  EXPECT_EQ(found[0].column, marked.column) << found[0].toString();
  EXPECT_EQ(found[0].file, "weir.yaml");
  EXPECT_THAT(found[0].message, testing::HasSubstr(c.fragment));
}

// A text that is right, with one message of a severity that contains `fragment`, at '@'.
inline void expectRemark(const WrongCase& c, Diagnostic::Severity severity) {
  const Marked marked = unmark(c.text);
  const Loaded loaded = loadText(marked.text);
  EXPECT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  std::vector<Diagnostic> matching;
  for (const auto& d : only(loaded, severity))
    if (d.message.find(c.fragment) != std::string::npos) matching.push_back(d);
  ASSERT_EQ(matching.size(), 1u) << all(loaded.diagnostics);
  EXPECT_EQ(matching[0].line, marked.line) << matching[0].toString();
  EXPECT_EQ(matching[0].column, marked.column) << matching[0].toString();
}

inline std::string nameOfCase(const testing::TestParamInfo<WrongCase>& info) {
  return info.param.name;
}

}  // namespace weir::config::test
