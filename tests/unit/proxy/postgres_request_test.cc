// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/postgres_request.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(PostgresRequest, BothRequestsAndWhatMayStillBecomeOne) {
  EXPECT_EQ(postgresRequest(kPostgresTlsRequest), PostgresRequest::tls);
  EXPECT_EQ(postgresRequest(kPostgresKerberosRequest), PostgresRequest::kerberos);
  for (std::size_t size = 0; size < 8; ++size)
    EXPECT_EQ(postgresRequest(kPostgresTlsRequest.substr(0, size)), PostgresRequest::needsMore);
}

TEST(PostgresRequest, NothingElse) {
  using namespace std::string_view_literals;
  for (const auto text : {"\x16\x03\x01"sv, "GET / "sv, "\0\0\0\0"sv,
                          "\0\0\0\x08\x04\xd2\x16\x2e"sv, "\0\0\0\x50\0\x03\0\0user"sv})
    EXPECT_EQ(postgresRequest(text), PostgresRequest::none);
}

}  // namespace
}  // namespace weir
