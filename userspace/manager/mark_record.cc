// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/mark_record.h"

#include "base/given_marks.h"
#include "base/log.h"

namespace weir::manager {

void MarkRecord::note(const KernelWish& wish, Time now) {
  bool isNew = !std::exchange(begun_, true);
  for (const BackendRoute& backend : wish.backends) {
    const Addresses addresses{backend.ipv4, backend.ipv6};
    const auto [known, added] = given_.try_emplace(backend.mark, addresses);
    if (!added && known->second == addresses) continue;
    known->second = addresses;
    isNew = true;
  }
  if (!isNew) return;
  if (const Status written = writeGivenMarks(path_, now); !written)
    log::warning("an engine that starts without the manager would wait for it",
                 {{"REASON", written.error().message}});
}

}  // namespace weir::manager
