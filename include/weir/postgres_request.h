// SPDX-License-Identifier: GPL-2.0-or-later
//
// What PostgreSQL's clients ask in the clear before they begin with TLS (or with Kerberos): eight
// bytes, which the server answers with one, 'S' or 'N' (PostgreSQL's documentation, "Message
// Formats": SSLRequest, GSSENCRequest). A TLS record never begins with their first byte.
#pragma once

#include <string_view>

namespace weir {

enum class PostgresRequest : unsigned char { none, needsMore, tls, kerberos };

inline constexpr std::string_view kPostgresTlsRequest{"\0\0\0\x08\x04\xd2\x16\x2f", 8};
inline constexpr std::string_view kPostgresKerberosRequest{"\0\0\0\x08\x04\xd2\x16\x30", 8};

// What the first bytes of a connection are; at most eight of them matter.
constexpr PostgresRequest postgresRequest(std::string_view bytes) noexcept {
  if (bytes.starts_with(kPostgresTlsRequest)) return PostgresRequest::tls;
  if (bytes.starts_with(kPostgresKerberosRequest)) return PostgresRequest::kerberos;
  const bool begins = kPostgresTlsRequest.starts_with(bytes) ||  //
                      kPostgresKerberosRequest.starts_with(bytes);
  return begins ? PostgresRequest::needsMore : PostgresRequest::none;
}

}  // namespace weir
