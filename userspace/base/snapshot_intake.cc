// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/snapshot_intake.h"

namespace weir::intake {

std::optional<std::string> serviceOf(const SnapshotMessage& message) {
  if (const auto* service = std::get_if<ServiceSnapshot>(&message))
    return std::to_string(service->id.value());
  if (const auto* service = std::get_if<ProxyServiceSnapshot>(&message)) return service->name;
  return std::nullopt;
}

Generation generationOf(const SnapshotMessage& message) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.generation; })
          return of.generation;
        else
          return Generation();
      },
      message);
}

}  // namespace weir::intake
