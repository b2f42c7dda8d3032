// SPDX-License-Identifier: GPL-2.0-or-later
//
// The snapshot server with data planes that are real sockets.
#include "manager/snapshot_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/channel.h"
#include "little_server.h"

namespace weir::manager {
namespace {

ServiceSnapshot serviceOf(std::uint16_t id, std::uint32_t generation, std::size_t backends = 1) {
  ServiceSnapshot service;
  service.id = ServiceId(id);
  service.name = "s" + std::to_string(id);
  service.generation = Generation(generation);
  for (std::size_t i = 0; i < backends; ++i) {
    SnapshotBackend backend;
    backend.slot = BackendSlot(static_cast<std::uint16_t>(i));
    backend.mark = Mark(static_cast<std::uint32_t>(i + 1) << 16);
    backend.group = "a-group-with-a-long-name";
    backend.endpoint = "10.2.0.11";
    service.backends.push_back(backend);
  }
  service.eligible.rule = "P2.1";
  return service;
}

class DataPlane {
 public:
  explicit DataPlane(const std::filesystem::path& path) : fd_(connectLocal(path)) {}

  void send(FrameType type, const std::string& json, std::uint32_t request = 0) {
    const auto bytes = serialize(Frame{type, request, {json.begin(), json.end()}});
    sendText(fd_.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  void sendRaw(const std::string& bytes) { sendText(fd_.get(), bytes); }

  // Takes what has arrived, without waiting.
  void poll() {
    char buffer[65536];
    while (true) {
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (n == 0) closed = true;
      if (n <= 0) return;
      reader_.feed({reinterpret_cast<const std::uint8_t*>(buffer), static_cast<std::size_t>(n)});
      while (true) {
        auto frame = reader_.next();
        ASSERT_TRUE(frame.ok());
        if (!frame.value()) break;
        frames.push_back(std::move(**frame));
      }
    }
  }

  std::vector<SnapshotMessage> messages() const {
    std::vector<SnapshotMessage> decoded;
    for (const auto& frame : frames)
      if (frame.type == FrameType::snapshot) {
        auto message = decode(frame.payload);
        EXPECT_TRUE(message.ok()) << message.error().message;
        decoded.push_back(std::move(message).value());
      }
    return decoded;
  }

  std::vector<Frame> frames;
  bool closed = false;

 private:
  Fd fd_;
  FrameReader reader_;
};

class Serving : public testing::Test {
 protected:
  Serving() { EXPECT_TRUE(server_.listen(path_).ok()); }

  void runUntilPolled(DataPlane& plane, const std::function<bool()>& done) {
    runUntil(io_, [&] {
      plane.poll();
      return done();
    });
  }
  void greet(DataPlane& plane) {
    plane.send(FrameType::hello, R"({"program":"weir-engine","pid":7,"version":"1"})");
    runUntil(io_, [&] {
      const auto views = server_.dataPlanes();
      return !views.empty() && views.back().program == "weir-engine";
    });
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "snapshots.sock";
  boost::asio::io_context io_;
  std::vector<SnapshotMessage> everything_{NodeSnapshot{}, SyncBegin{}, serviceOf(1, 1), SyncEnd{}};
  SnapshotServer server_{io_, [this] { return everything_; }};
};

TEST_F(Serving, EverythingAtConnectThenDifferences) {
  DataPlane plane(path_);
  runUntilPolled(plane, [&] { return plane.frames.size() == 4; });
  EXPECT_EQ(plane.messages(), everything_);
  plane.frames.clear();
  const std::vector<SnapshotMessage> difference{serviceOf(2, 2), ServiceRemoved{ServiceId(1)}};
  server_.broadcast(difference);
  runUntilPolled(plane, [&] { return plane.frames.size() == 2; });
  EXPECT_EQ(plane.messages(), difference);
}

TEST_F(Serving, ConfirmedWhenAllHaveApplied) {
  EXPECT_FALSE(server_.confirmed(Generation(0)));
  int progress = 0;
  server_.onProgress([&] { ++progress; });
  DataPlane first(path_), second(path_);
  runUntil(io_, [&] { return server_.dataPlanes().size() == 2; });
  first.send(FrameType::applied, R"({"generation":5})");
  runUntil(io_, [&] { return progress == 1; });
  EXPECT_FALSE(server_.confirmed(Generation(5)));
  second.send(FrameType::applied, R"({"generation":6})");
  runUntil(io_, [&] { return progress == 2; });
  EXPECT_TRUE(server_.confirmed(Generation(5)));
  EXPECT_FALSE(server_.confirmed(Generation(6)));
}

TEST_F(Serving, ADataPlaneThatGoesIsNotWaitedFor) {
  int progress = 0;
  server_.onProgress([&] { ++progress; });
  DataPlane stays(path_);
  {
    DataPlane goes(path_);
    runUntil(io_, [&] { return server_.dataPlanes().size() == 2; });
  }
  runUntil(io_, [&] { return server_.dataPlanes().size() == 1; });
  EXPECT_EQ(progress, 1);
}

// A program that runs for long and has just connected, to a manager that is new.
TEST_F(Serving, AProgramIsUpSinceItsProcessStarted) {
  DataPlane plane(path_), older(path_);
  plane.send(FrameType::hello, R"({"program":"a","pid":7,"version":"1","uptimeSec":86400})");
  older.send(FrameType::hello, R"({"program":"b","pid":8,"version":"0"})");
  runUntil(io_, [&] {
    const auto views = server_.dataPlanes();
    return views.size() == 2 && !views[0].program.empty() && !views[1].program.empty();
  });
  for (const DataPlaneView& view : server_.dataPlanes()) {
    EXPECT_LT(view.connectedFor, std::chrono::seconds(3600));
    if (view.program == "a")
      EXPECT_GE(view.upFor, std::chrono::seconds(86400));
    else
      EXPECT_EQ(view.upFor, std::nullopt);
  }
}

TEST_F(Serving, WhyADataPlaneWouldWaitAtItsNextStartIsKnown) {
  int progress = 0;
  server_.onProgress([&] { ++progress; });
  DataPlane plane(path_);
  plane.send(FrameType::applied, R"({"generation":5,"notKept":"the disk is full"})");
  runUntil(io_, [&] { return progress == 1; });
  EXPECT_EQ(server_.dataPlanes().at(0).notKept, "the disk is full");
  plane.send(FrameType::applied, R"({"generation":5})");
  runUntil(io_, [&] { return progress == 2; });
  EXPECT_EQ(server_.dataPlanes().at(0).notKept, "");
}

TEST_F(Serving, RequestsAreAnsweredOrRefusedOrTimeOut) {
  std::vector<DataPlaneReply> replies;
  const auto note = [&](DataPlaneReply reply) { replies.push_back(std::move(reply)); };
  const auto ask = [&](std::chrono::milliseconds timeout) {
    server_.request("weir-engine", R"({"op":"stats"})", timeout, note);
  };
  ask(std::chrono::seconds(1));
  EXPECT_TRUE(replies.empty()) << "answered from inside request()";
  runUntil(io_, [&] { return replies.size() == 1; });
  EXPECT_EQ(replies[0].kind, DataPlaneReply::Kind::absent);

  DataPlane plane(path_);
  greet(plane);
  ask(std::chrono::seconds(5));
  ask(std::chrono::seconds(5));
  ask(std::chrono::milliseconds(50));
  runUntilPolled(plane, [&] { return plane.frames.size() == 4 + 3; });
  plane.send(FrameType::response, R"({"error":"unknown service"})", plane.frames[5].request);
  plane.send(FrameType::response, R"({"x":1})", plane.frames[4].request);
  runUntil(io_, [&] { return replies.size() == 4; });
  EXPECT_EQ(replies[1].kind, DataPlaneReply::Kind::refused);
  EXPECT_EQ(replies[1].text, "unknown service");
  EXPECT_EQ(replies[2].kind, DataPlaneReply::Kind::answered);
  EXPECT_EQ(replies[2].text, R"({"x":1})");
  EXPECT_EQ(replies[3].kind, DataPlaneReply::Kind::absent);

  // An answer after its time is nobody's any more.
  plane.send(FrameType::response, R"({"x":1})", plane.frames[6].request);
  runFor(io_, std::chrono::milliseconds(50));
  EXPECT_EQ(replies.size(), 4u);
  EXPECT_EQ(server_.dataPlanes().size(), 1u);
}

TEST_F(Serving, RequestsEndWhenTheDataPlaneGoes) {
  std::vector<DataPlaneReply> replies;
  {
    DataPlane plane(path_);
    greet(plane);
    server_.request("weir-engine", "{}", std::chrono::seconds(60),
                    [&](DataPlaneReply reply) { replies.push_back(std::move(reply)); });
    runFor(io_, std::chrono::milliseconds(20));
  }
  runUntil(io_, [&] { return replies.size() == 1; });
  EXPECT_EQ(replies[0].kind, DataPlaneReply::Kind::absent);
}

TEST_F(Serving, WhoSpeaksNonsenseIsDisconnected) {
  DataPlane fine(path_);
  greet(fine);
  for (const std::string& nonsense :
       {std::string(64, '\xff'), std::string("GET / HTTP/1.1\r\n\r\n")}) {
    DataPlane plane(path_);
    plane.sendRaw(nonsense);
    runUntilPolled(plane, [&] { return plane.closed; });
  }
  for (const FrameType type :
       {FrameType::snapshot, FrameType::request, static_cast<FrameType>(99)}) {
    DataPlane plane(path_);
    plane.send(type, "{}");
    runUntilPolled(plane, [&] { return plane.closed; });
  }
  for (const char* json : {"[]", "{", R"({"generation":-1})", R"({"generation":"x"})"}) {
    DataPlane plane(path_);
    plane.send(FrameType::applied, json);
    runUntilPolled(plane, [&] { return plane.closed; });
  }
  EXPECT_EQ(server_.dataPlanes().size(), 1u);
}

TEST_F(Serving, ASlowReaderIsSynchronisedAgainWithBoundedMemory) {
  DataPlane slow(path_);
  runUntilPolled(slow, [&] { return slow.frames.size() == 4; });
  slow.frames.clear();
  // 60 MB of changes while it reads nothing.
  std::uint32_t generation = 10;
  for (int i = 0; i < 600; ++i) {
    const std::vector<SnapshotMessage> change{serviceOf(1, ++generation, 1500)};
    server_.broadcast(change);
    io_.restart();
    io_.poll();
  }
  everything_ = {NodeSnapshot{}, SyncBegin{}, serviceOf(1, generation), SyncEnd{}};
  const auto synchronised = [&] {
    return !slow.frames.empty() && slow.frames.back().payload == encode(SyncEnd{});
  };
  runUntilPolled(slow, synchronised);
  std::size_t bytes = 0;
  for (const auto& frame : slow.frames) bytes += frame.payload.size();
  EXPECT_LT(bytes, 2 * SnapshotServer::kMaxPendingBytes);
  auto messages = slow.messages();
  ASSERT_GE(messages.size(), 4u);
  EXPECT_EQ(std::vector(messages.end() - 4, messages.end()), everything_);
  // And differences flow again.
  const std::vector<SnapshotMessage> change{serviceOf(1, ++generation)};
  server_.broadcast(change);
  runUntilPolled(slow, [&] { return slow.messages().back() == change.front(); });
}

TEST_F(Serving, TheSocketIsReplacedAndRemoved) {
  server_.stop();
  EXPECT_FALSE(std::filesystem::exists(path_));
  SnapshotServer next(io_, [this] { return everything_; });
  ASSERT_TRUE(next.listen(path_).ok());
  DataPlane plane(path_);
  runUntilPolled(plane, [&] { return plane.frames.size() == 4; });
  EXPECT_FALSE(
      SnapshotServer(io_, [this] { return everything_; }).listen("/nonexistent/x.sock").ok());
}

}  // namespace
}  // namespace weir::manager
