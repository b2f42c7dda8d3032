// SPDX-License-Identifier: GPL-2.0-or-later
//
// Who may use the API's socket: real processes with real groups. Needs root for that.
#include "manager/api/peer.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "manager/api/http_server.h"
#include "unit/manager/little_server.h"

namespace weir::manager {
namespace {

constexpr gid_t kFull = 61001, kView = 61002, kOther = 61003;
constexpr uid_t kSomebody = 61004;

// What a process with these groups gets from the socket: the answer's status; -1: no connection.
int statusFor(const std::filesystem::path& path, uid_t user, gid_t group,
              const std::vector<gid_t>& groups, const std::string& request) {
  int channel[2];
  EXPECT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    int status = -2;
    if (::setgroups(groups.size(), groups.data()) == 0 && ::setgid(group) == 0 &&
        ::setuid(user) == 0) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path.native().copy(address.sun_path, sizeof address.sun_path - 1);
      const Fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
      status = -1;
      if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        sendText(fd.get(), request);
        const std::string answer = receiveAll(fd.get());
        status = answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0;
      }
    }
    const bool told = ::write(channel[1], &status, sizeof status) == sizeof status;
    ::_exit(told ? 0 : 1);
  }
  ::close(channel[1]);
  int status = -3;
  EXPECT_EQ(::read(channel[0], &status, sizeof status), static_cast<ssize_t>(sizeof status));
  ::close(channel[0]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return status;
}

class Peers : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0u) << "only root can be somebody else; run this test as root";
    // Others must be able to reach the socket's directory.
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  }
  ~Peers() override {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }
  void listen(const SocketGroups& groups) {
    ASSERT_TRUE(server_.listenLocal(path_, groups).ok());
    thread_ = std::thread([this] {
      auto work = boost::asio::make_work_guard(io_);
      io_.run();
    });
  }
  int status(uid_t user, gid_t group, const std::vector<gid_t>& groups) const {
    return statusFor(path_, user, group, groups,
                     "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "api.sock";
  boost::asio::io_context io_;
  HttpServer server_{
      io_, [](const HttpRequest& request, const HttpRespond& respond) {
        respond({request.access == Access::full ? 200u : 203u, "text/plain", "", {}});
      }};
  std::thread thread_;
};

TEST_F(Peers, RootAndBothGroupsGetInWithTheirRights) {
  listen({kFull, kView});
  EXPECT_EQ(status(0, 0, {}), 200);
  EXPECT_EQ(status(kSomebody, kFull, {}), 200);
  EXPECT_EQ(status(kSomebody, kOther, {kFull}), 200);
  EXPECT_EQ(status(kSomebody, kOther, {kFull, kView}), 200);
  EXPECT_EQ(status(kSomebody, kView, {}), 203);
  EXPECT_EQ(status(kSomebody, kOther, {kOther, kView}), 203);
}

TEST_F(Peers, EverybodyElseIsKeptOutByTheKernel) {
  listen({kFull, kView});
  EXPECT_EQ(status(kSomebody, kOther, {}), -1);
  EXPECT_EQ(status(kSomebody, kOther, {kOther, 0}), -1);
}

TEST_F(Peers, WithoutTheGroupsOnlyRootGetsIn) {
  listen({});
  EXPECT_EQ(status(0, 0, {}), 200);
  EXPECT_EQ(status(kSomebody, kFull, {kView}), -1);
  // The kernel lets root's group through; that alone is no right.
  EXPECT_EQ(status(kSomebody, 0, {}), 403);
}

TEST_F(Peers, ManyGroupsAreAllLookedAt) {
  listen({kFull, kView});
  std::vector<gid_t> groups;
  for (gid_t group = 70000; group < 70500; ++group) groups.push_back(group);
  groups.push_back(kView);
  EXPECT_EQ(status(kSomebody, kOther, groups), 203);
}

TEST(PeerAccess, TheHigherRightCounts) {
  const SocketGroups groups{kFull, kView};
  EXPECT_EQ(accessOf({kSomebody, {kView, kFull}}, groups), Access::full);
  EXPECT_EQ(accessOf({kSomebody, {kView}}, groups), Access::view);
  EXPECT_EQ(accessOf({kSomebody, {kOther}}, groups), Access::none);
  EXPECT_EQ(accessOf({0, {}}, groups), Access::full);
  EXPECT_EQ(accessOf({kSomebody, {kOther}}, {}), Access::none);
}

}  // namespace
}  // namespace weir::manager
