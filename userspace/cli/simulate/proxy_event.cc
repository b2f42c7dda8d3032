// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/proxy_event.h"

#include "cli/simulate/packet_event.h"
#include "config/types.h"

namespace weir::cli {
namespace {

using config::Reader;
using config::Schema;
using config::Value;

constexpr double kMostConnections = 1e12;

config::Type<std::string> identifier() {
  return config::textWhere(
      "a name for the connection, of at most 255 characters",
      [](std::string_view text) { return !text.empty() && text.size() <= 255; });
}

struct WrittenConnection {
  std::string id;
  Address source;
  Address destination;
  std::uint16_t sourcePort = 0;
  std::uint16_t destinationPort = 0;
  std::optional<std::string> sni;
  std::vector<std::string> alpn;
};

const Schema<WrittenConnection>& connectionSchema() {
  static const auto schema = [] {
    const auto protocol = config::textWhere(
        "a protocol's name of 1 to 255 characters",
        [](std::string_view text) { return !text.empty() && text.size() <= 255; });
    Schema<WrittenConnection> s("a connection");
    s.required("id", identifier(), &WrittenConnection::id)
        .required("src", anyAddress(), &WrittenConnection::source)
        .required("dst", anyAddress(), &WrittenConnection::destination)
        .required("sport", config::integer(0, 65535), &WrittenConnection::sourcePort)
        .required("dport", config::integer(1, 65535), &WrittenConnection::destinationPort)
        .field("sni", config::text(65535), &WrittenConnection::sni, "no server name")
        .field("alpn", config::listOf(protocol), &WrittenConnection::alpn, "none");
    return s;
  }();
  return schema;
}

const Schema<LoadEvent>& loadSchema() {
  static const auto schema = [] {
    Schema<LoadEvent> s("a load");
    s.required("service", config::reference(), &LoadEvent::service)
        .required("connections", config::decimal(0, kMostConnections), &LoadEvent::connections);
    return s;
  }();
  return schema;
}

}  // namespace

ConnectionEvent readConnection(const Value& value, Reader& reader) {
  const std::size_t before = reader.problems().errors();
  WrittenConnection written;
  connectionSchema().read(value, written, reader);
  ConnectionEvent event;
  if (reader.problems().errors() != before) return event;
  if (written.source.family() != written.destination.family())
    reader.error(value.mark, "src and dst must be addresses of the same family");
  event.id = std::move(written.id);
  event.place = value.find("id")->value->mark;
  event.ends.client = {written.source, written.sourcePort};
  event.ends.server = {written.destination, written.destinationPort};
  event.sni = std::move(written.sni);
  event.alpn = std::move(written.alpn);
  return event;
}

CloseEvent readClose(const Value& value, Reader& reader) {
  static const auto id = identifier();
  return {id.read(value, reader).value_or(""), value.mark};
}

LoadEvent readLoad(const Value& value, Reader& reader) {
  LoadEvent event;
  loadSchema().read(value, event, reader);
  if (const auto* service = value.find("service")) event.place = service->value->mark;
  return event;
}

}  // namespace weir::cli
