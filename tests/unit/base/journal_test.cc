// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include "base/log.h"
#include "unit/base/journal_stream.h"

namespace weir {
namespace {

// Root there, whoever runs the test.
bool enterMountNamespace() {
  const uid_t user = ::geteuid();
  if (::unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (user != 0) {
    std::ofstream map("/proc/self/uid_map");
    map << "0 " << user << " 1" << std::flush;
    if (!map) return false;
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// In a mount namespace of its own, the journal's socket; -1 when that cannot be made.
int listenAsJournal() {
  if (!enterMountNamespace()) return -1;
  if (::mount("none", "/run", "tmpfs", 0, nullptr) != 0) return -1;
  ::mkdir("/run/systemd", 0755);
  ::mkdir("/run/systemd/journal", 0755);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "/run/systemd/journal/socket");
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  return fd;
}

// What the journal hears of a line, written in a child process that ends with it.
std::string heardByJournal(const std::function<void()>& write) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int journal = listenAsJournal();
    std::array<char, 4096> entry{};
    ssize_t size = -1;
    if (journal >= 0) {
      test::pretendStderrIsJournal();
      write();
      size = ::recv(journal, entry.data(), entry.size(), MSG_DONTWAIT);
    }
    if (size > 0) size = ::write(pipe[1], entry.data(), static_cast<std::size_t>(size));
    ::_exit(size > 0 ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string heard;
  std::array<char, 4096> part{};
  for (ssize_t n; (n = ::read(pipe[0], part.data(), part.size())) > 0;)
    heard.append(part.data(), static_cast<std::size_t>(n));
  ::close(pipe[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return heard;
}

TEST(Journal, GetsFieldsAsFieldsAndReadableText) {
  const auto heard = heardByJournal([] {
    log::setup("weir-test", log::Level::info, log::Format::text);
    log::warning("backend is not healthy", {{"SERVICE", "web"}, {"REASON", "no answer"}});
  });
  EXPECT_THAT(heard, testing::HasSubstr("MESSAGE=backend is not healthy SERVICE=web "
                                        "REASON=\"no answer\"\n"));
  for (const char* field :
       {"PRIORITY=4\n", "SYSLOG_IDENTIFIER=weir-test\n", "SERVICE=web\n", "REASON=no answer\n"})
    EXPECT_THAT(heard, testing::HasSubstr(field));
  EXPECT_EQ(heard.find("CODE_FILE"), std::string::npos);
}

}  // namespace
}  // namespace weir
