// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/health/conversation.h"

namespace weir::manager {

// A probe by TLS of a target of which `context.resumption` remembers something (not empty).
//
// A resumed handshake may confirm that a target is healthy and nothing else, since some servers
// treat resumed sessions in another way. So what does not succeed with a ticket is asked again
// without one, over a new connection, and that one's outcome counts. A target that has not answered
// by half of the check's timeout is asked again too; the connection with the ticket goes on beside
// the new one, so that a target that is only slow keeps its whole timeout, and the first success
// ends the probe. Either way, and after an answer that took more than half of the timeout, the
// target is offered no ticket for a while: asking again must find the time for it.
//
// `plan` is the first connection's, `planOf` makes the second one's.
std::unique_ptr<Probe> startResumable(ProbeContext context, const ProbeTarget&, Plan plan,
                                      Plan (*planOf)(const ProbeTarget&), ProbeDone);

}  // namespace weir::manager
