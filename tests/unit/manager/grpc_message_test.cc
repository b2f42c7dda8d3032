// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/grpc_message.h"

#include <gtest/gtest.h>

namespace weir::manager {
namespace {

using namespace std::string_literals;

TEST(GrpcMessage, H6_TheRequestNamesTheService) {
  EXPECT_EQ(healthCheckRequest(""), "");
  EXPECT_EQ(healthCheckRequest("shop"), "\x0a\x04shop");
  EXPECT_EQ(healthCheckRequest(std::string(300, 's')), "\x0a\xac\x02" + std::string(300, 's'));
  EXPECT_EQ(grpcFrame("\x0a\x04shop"), "\0\0\0\0\x06\x0a\x04shop"s);
  EXPECT_EQ(grpcFrame(std::string(70'000, 'x')).substr(0, 5), "\0\0\x01\x11\x70"s);
}

TEST(GrpcMessage, H6_TheStatusOfTheAnswer) {
  const auto status = [](const std::string& message) { return servingStatus(grpcFrame(message)); };
  EXPECT_EQ(*status(""), 0u);  // a field with the value 0 is left out
  EXPECT_EQ(*status("\x08\x01"), 1u);
  EXPECT_EQ(*status("\x08\x02\x08\x01"), 1u);   // the last one counts
  EXPECT_EQ(*status("\x08\x81\x80\x00"s), 1u);  // longer than it must be
  EXPECT_EQ(*status("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ~std::uint64_t{0});
  // Fields that this version does not know, of every wire type.
  EXPECT_EQ(*status("\x10\x96\x01\x19"
                    "12345678"
                    "\x22\x03"
                    "abc"
                    "\x2d"
                    "1234"
                    "\x08\x01"),
            1u);
  EXPECT_EQ(*status("\x0a\x01x"), 0u);  // field 1, but not a number: another message's
}

TEST(GrpcMessage, H6_BrokenAnswersAreRefused) {
  const auto refusal = [](const std::string& frame) {
    const auto status = servingStatus(frame);
    return status.ok() ? std::string() : status.error().message;
  };
  for (const std::string& shorter : {""s, "\0"s, "\0\0\0\0"s})
    EXPECT_EQ(refusal(shorter), "the answer holds no gRPC message");
  EXPECT_EQ(refusal("\x01\0\0\0\x02\x08\x01"s),
            "the gRPC message is compressed, which was not asked for");
  for (const std::string& other :
       {"\0\0\0\0\x03\x08\x01"s, "\0\0\0\0\x01\x08\x01"s, "\0\xff\xff\xff\xff\x08\x01"s})
    EXPECT_EQ(refusal(other), "the answer is not exactly one gRPC message");
  for (const std::string& message :
       {"\x08"s,                                              // a field without its value
        "\x08\x80"s,                                          // a number without its end
        "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s,  // of more than ten bytes
        "\x12\x05"
        "abc"s,                                           // longer than what is there
        "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,  // much longer
        "\x11"
        "1234567"s,
        "\x15"
        "123"s,                    // cut
        "\x0b\x0c"s,               // a group
        "\x0e\x01"s, "\x0f\x01"s,  // wire types that do not exist
        "\x00\x01"s})              // field 0
    EXPECT_EQ(refusal(grpcFrame(message)), "the gRPC message is not a HealthCheckResponse");
}

TEST(GrpcMessage, H6_StatesInWords) {
  EXPECT_EQ(servingStatusName(2), "NOT_SERVING");
  EXPECT_EQ(servingStatusName(3), "SERVICE_UNKNOWN");
  EXPECT_EQ(servingStatusName(4), "in the unknown state 4");
  EXPECT_EQ(grpcStatusName(5), "5 NOT_FOUND");
  EXPECT_EQ(grpcStatusName(16), "16 UNAUTHENTICATED");
  EXPECT_EQ(grpcStatusName(17), "17");
}

}  // namespace
}  // namespace weir::manager
