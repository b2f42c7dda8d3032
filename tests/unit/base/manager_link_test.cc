// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/manager_link.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <nlohmann/json.hpp>

#include "support/temporary_directory.h"

namespace weir {
namespace {

// The manager's end.
class ManagerLinkTest : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (directory_.path() / "snapshots.sock").string();
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    ASSERT_EQ(::listen(listener_.get(), 1), 0);
  }
  void accept() { peer_ = Fd(::accept(listener_.get(), nullptr, nullptr)); }
  void say(const std::vector<std::uint8_t>& bytes) {
    ASSERT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  Frame hear() {
    FrameReader reader;
    for (;;) {
      auto frame = reader.next();
      if (frame.ok() && frame->has_value()) return std::move(**frame);
      std::uint8_t buffer[65536];
      const ssize_t length = ::recv(peer_.get(), buffer, sizeof buffer, 0);
      if (length <= 0) return {};
      reader.feed({buffer, static_cast<std::size_t>(length)});
    }
  }

  test::TemporaryDirectory directory_;
  Fd listener_, peer_;
};

TEST_F(ManagerLinkTest, SaysHelloFirst) {
  auto link = ManagerLink::connect(directory_.path(), "weir-program");
  ASSERT_TRUE(link.ok()) << link.error().message;
  accept();
  const Frame hello = hear();
  EXPECT_EQ(hello.type, FrameType::hello);
  const auto text = nlohmann::json::parse(hello.payload);
  EXPECT_EQ(text["program"], "weir-program");
  EXPECT_EQ(text["pid"], ::getpid());
  EXPECT_TRUE(text["version"].is_string());
  EXPECT_TRUE(text["uptimeSec"].is_number_unsigned());
}

TEST_F(ManagerLinkTest, NoManagerIsAnErrorThatNamesTheSocket) {
  const auto link = ManagerLink::connect(directory_.path() / "none", "weir-program");
  ASSERT_FALSE(link.ok());
  EXPECT_NE(link.error().message.find("snapshots.sock"), std::string::npos);
  EXPECT_FALSE(ManagerLink::connect(std::string(200, 'x'), "weir-program").ok());
}

TEST_F(ManagerLinkTest, GivesAllWholeFramesThenTheEnd) {
  auto link = ManagerLink::connect(directory_.path(), "weir-program");
  accept();
  say(serialize(textFrame(FrameType::request, 1, "{}")));
  say(serialize(textFrame(FrameType::request, 2, "{}")));
  peer_.reset();
  const auto frames = link->receive();
  ASSERT_TRUE(frames.ok());
  ASSERT_EQ(frames.value().size(), 2u);
  EXPECT_EQ(frames.value()[1].request, 2u);
  EXPECT_FALSE(link->receive().ok());
}

TEST_F(ManagerLinkTest, NothingThereIsNoError) {
  auto link = ManagerLink::connect(directory_.path(), "weir-program");
  accept();
  const auto frames = link->receive();
  ASSERT_TRUE(frames.ok());
  EXPECT_TRUE(frames.value().empty());
}

TEST_F(ManagerLinkTest, GarbageEndsTheConnection) {
  auto link = ManagerLink::connect(directory_.path(), "weir-program");
  accept();
  say(std::vector<std::uint8_t>(100, 0xff));
  EXPECT_FALSE(link->receive().ok());
}

TEST_F(ManagerLinkTest, LargeAnswerWaitsForItsReader) {
  auto link = ManagerLink::connect(directory_.path(), "weir-program");
  accept();
  hear();
  const std::string text(8u << 20, 'x');
  link->send(textFrame(FrameType::response, 5, text));
  ASSERT_TRUE(link->flush().ok());
  EXPECT_TRUE(link->wantsToWrite());
  FrameReader reader;
  for (;;) {
    auto frame = reader.next();
    ASSERT_TRUE(frame.ok());
    if (frame->has_value()) {
      EXPECT_EQ((*frame)->payload.size(), text.size());
      break;
    }
    ASSERT_TRUE(link->flush().ok());
    std::uint8_t buffer[65536];
    const ssize_t length = ::recv(peer_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (length > 0) reader.feed({buffer, static_cast<std::size_t>(length)});
  }
  EXPECT_FALSE(link->wantsToWrite());
}

TEST_F(ManagerLinkTest, ManagerThatNeverReadsIsGivenUp) {
  auto link = ManagerLink::connect(directory_.path(), "weir-program");
  accept();
  const std::string text(32u << 20, 'x');
  Status status = success();
  for (std::size_t sent = 0; sent <= 2 * ManagerLink::kMaxOutput && status.ok();
       sent += text.size()) {
    link->send(textFrame(FrameType::response, 5, text));
    status = link->flush();
  }
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace weir
