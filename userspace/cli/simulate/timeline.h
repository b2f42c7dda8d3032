// SPDX-License-Identifier: GPL-2.0-or-later
//
// The resources of a scenario as its events change them, without deciding anything: what an event
// means for the configuration, and which endpoints it is about.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "cli/simulate/event.h"
#include "config/problems.h"
#include "weir/model.h"

namespace weir::cli {

class Timeline {
 public:
  // `text` is the scenario's; both must outlive the timeline.
  Timeline(const Configuration& beginning, const config::Text& text);

  const Configuration& configuration() const noexcept { return configuration_; }

  // Members that a key names, those that have left their group included; none: reported.
  std::vector<EndpointRef> membersOf(const EndpointKey&, config::Problems&) const;

  // Reports when the service of a load is not one of a proxy's.
  void checkService(const LoadEvent&, config::Problems&) const;

  // Changes the configuration. Reports what is wrong, then nothing is changed.
  void change(const RemoveEvent&, config::Problems&);
  void change(const AddEvent&, config::Problems&);
  void change(const ApplyEvent&, config::Problems&);
  void change(const DeleteEvent&, config::Problems&);

 private:
  void adopt(Configuration);
  // Validates what an event made of the configuration; faults are told at `place`.
  void adoptIfValid(Configuration, config::Mark place, config::Problems&);

  const config::Text& text_;
  Configuration configuration_;
  std::map<std::string, std::map<std::string, Endpoint>> seen_;  // group -> identity -> member
};

// Goes through all events; what is wrong with any of them in the light of those before it is
// reported, at most once per event.
void checkEvents(const Configuration& beginning, const config::Text&, const std::deque<Event>&,
                 config::Problems&);

}  // namespace weir::cli
