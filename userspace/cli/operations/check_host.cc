// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/check_host.h"

#include <algorithm>

#include "manager/host_check.h"

namespace weir::cli {

namespace {

using manager::HostFinding;

std::vector<HostFinding> findingsOf(const Configuration& configuration) {
  auto findings = manager::checkHost(configuration);
  if (findings.ok()) return std::move(findings).value();
  return {{HostFinding::Severity::wrong, findings.error().message, {}}};
}

std::ptrdiff_t count(const std::vector<HostFinding>& findings, HostFinding::Severity severity) {
  return std::ranges::count(findings, severity, &HostFinding::severity);
}

}  // namespace

bool checkHostForPeople(const Context& context, const Configuration& configuration) {
  const auto findings = findingsOf(configuration);
  for (const HostFinding& finding : findings) {
    context.err() << manager::toString(finding.severity) << ": " << finding.what << '\n';
    if (!finding.fix.empty()) context.err() << "    " << finding.fix << '\n';
  }
  const auto wrong = count(findings, HostFinding::Severity::wrong);
  context.out() << "host: " << wrong << " wrong, " << count(findings, HostFinding::Severity::advice)
                << " advised\n";
  return wrong == 0;
}

Json checkHostForPrograms(const Configuration& configuration, bool& fit) {
  const auto findings = findingsOf(configuration);
  fit = count(findings, HostFinding::Severity::wrong) == 0;
  Json list = Json::array();
  for (const HostFinding& finding : findings)
    list.push_back({{"severity", std::string(manager::toString(finding.severity))},
                    {"message", finding.what},
                    {"fix", finding.fix}});
  return list;
}

}  // namespace weir::cli
