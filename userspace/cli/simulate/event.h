// SPDX-License-Identifier: GPL-2.0-or-later
//
// The events of a scenario (C3), read and checked as far as that goes without the resources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/simulate/proxy_event.h"
#include "config/schema.h"
#include "weir/control_plane.h"
#include "weir/packet.h"

namespace weir::cli {

// "10.2.0.11", "10.2.0.12:8080", "[fd00::1]:80", "db.example.com:443", each also as "group/...":
// one or more members of groups.
struct EndpointKey {
  std::string group;  // empty: every group that holds it
  Address address;    // when there is no name
  std::string fqdn;
  std::optional<std::uint16_t> port;
  config::Mark place;
};

// Of many events only packets and connections come in millions; the others hold what they need.
struct HealthEvent {
  struct Item {
    EndpointKey endpoint;
    Health health;
  };
  std::vector<Item> items;
};
struct WeightEvent {
  struct Item {
    EndpointKey endpoint;
    ReportedWeight weight;
  };
  std::vector<Item> items;
};
struct UtilizationEvent {
  struct Item {
    EndpointKey endpoint;
    double utilization;
  };
  std::vector<Item> items;
};
struct RemoveEvent {
  EndpointKey endpoint;  // with its group
};
struct AddEvent {
  std::string group;
  config::ValuePtr endpoint;  // as in endpoints[]
  config::Mark groupPlace;
};
struct ApplyEvent {
  config::ValuePtr resources;
};
struct DeleteEvent {
  struct Item {
    std::string collection;
    std::string name;
    config::Mark place;
  };
  std::vector<Item> items;
};

struct Event {
  double at = 0;  // seconds
  config::Mark place;
  std::variant<Packet, ConnectionEvent, CloseEvent, LoadEvent, HealthEvent, WeightEvent,
               UtilizationEvent, RemoveEvent, AddEvent, ApplyEvent, DeleteEvent>
      what;

  // Does it print a line?
  bool prints() const noexcept {
    return std::holds_alternative<Packet>(what) || std::holds_alternative<ConnectionEvent>(what) ||
           std::holds_alternative<LoadEvent>(what);
  }
};

// Reads an item of `events`; reports what is wrong with it and returns nullopt then.
std::optional<Event> readEvent(const config::Value&, config::Reader&);

// The canonical text of an endpoint's name (an address in another spelling, for instance); text
// that names no address is left as it is.
std::string canonicalEndpoint(const std::string& text);

}  // namespace weir::cli
